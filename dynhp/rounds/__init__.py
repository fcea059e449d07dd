"""The work of one round: jobs for an executor, a try carried out, which tries go on."""
