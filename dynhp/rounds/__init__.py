"""The work of one round: jobs for an executor, how a try is carried out, which tries go on."""
