"""Groups: the streams of several stores, served by daemons on several machines.

A group is some stores, its *partitions*, and one process serves one of them. Each is a store like
any other, with a noise key and a high-water mark of its own. Each stream is in one partition, which
follows from its name (`littled.groups.partitions`). Which machine serves which partition is agreed
upon in etcd (`littled.groups.agreement`) by members (`littled.groups.membership`), each of which
starts and stops daemons. Whether a daemon may show anything is none of these: that its store and
its mark decide, as they do without a group.
"""
