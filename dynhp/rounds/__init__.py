"""One round: jobs, a try carried out, which tries go on; imports proposers, selection and below."""
