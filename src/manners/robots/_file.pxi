# A parsed file, and the policies it keeps. A part of the kernel.

cdef class File:
    """A parsed file and the policies it keeps."""

    cdef readonly bytes body
    cdef readonly object dialect, url
    cdef readonly bint truncated
    cdef public object _gathered    # groups and directives, once somebody asked for them
    cdef Matcher latest             # the policy that was asked for last
    cdef dict policies              # those that are kept; None while there is only that one
    cdef object __weakref__

    def __cinit__(self, bytes body not None, dialect not None, url=None, bint truncated=False):
        self.body, self.dialect, self.url, self.truncated = body, dialect, url, truncated

    def policy(self, agent):
        """This file bound to an agent, or to an agent with several names."""
        cdef Matcher latest = self.latest
        if latest is not None and type(agent) is str and len(latest.agents) == 1 \
                and <str>agent == <str>latest.agents[0]:
            return latest
        cdef tuple names = (agent,) if type(agent) is str else agent_names(agent)
        return self._other_policy(names)

    cdef Matcher _other_policy(self, tuple names):
        """The policy of an agent that is not the latest."""
        cdef Matcher policy = None
        if self.latest is not None:
            if self.policies is None:
                self.policies = {self.latest.agents: self.latest}
            policy = self.policies.get(names)
        if policy is None:
            policy = kernel_make(policy_class, (self, names))
            if self.policies is not None:
                if len(self.policies) >= POLICIES_KEPT:
                    self.policies.pop(next(iter(self.policies)), None)
                self.policies[names] = policy
        self.latest = policy
        return policy
