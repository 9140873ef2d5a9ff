"""Planning of window learners: how many examples a window needs, or how good its rule will be."""
