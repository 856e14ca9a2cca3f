# Turns what bpftrace prints into the events of a log. Variables: kind, functions (names, by the number in the names of
# maps), counts (file for the numbers of the footer). Lines of events pass; at the end bpftrace prints its maps: how many
# events the program saw, and the calls that had not returned.

BEGIN {
    OFS = ";"
    fields = kind == "flashmon" ? 6 : kind == "vfsmon" ? 9 : 5
    n = split(functions, name_of, " ")
    seen = ""
    events = 0
}

/^@seen: / {
    seen = substr($0, 8) + 0
    next
}

# "@call_3[1234, 1]: (5123456789, 77, 0, 4096, 0)"
/^@call_[0-9]+\[/ {
    split($0, part, /[][,:() ]+/)
    number = substr(part[1], 7)
    tid = part[2]
    from = part[4]
    # As text: numbers of more than 53 bits are not exact, and busybox takes leading zeros for octal.
    while (length(from) < 10)
        from = "0" from
    s = substr(from, 1, length(from) - 9)
    us = substr(from, length(from) - 8, 6)
    unknown = kind == "vfsmon" ? ";;;;" : ""
    print s "." us, "", name_of[number], "", tid unknown
    events++
    next
}

NF < fields || /^@/ { next }

{
    # A task may have any name.
    if (NF > fields) {
        extra = NF - fields
        task = $4
        for (i = 1; i <= extra; i++)
            task = task "," $(4 + i)
        rest = ""
        for (i = 5 + extra; i <= NF; i++)
            rest = rest ";" $i
        $0 = $1 ";" $2 ";" $3 ";" task rest
    }
    if (kind == "vfsmon" && $6 == "0")
        $6 = ""
    print
    events++
}

END {
    if (seen != "")
        print "seen events=" events " lost=" (seen > events ? seen - events : 0) > counts
}
