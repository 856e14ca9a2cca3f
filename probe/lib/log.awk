# Turns the text of a trace buffer into the events of a log. Variables: kind; for flashmon also level, page_B, oob_B,
# block_B, from_B, size_B (the scope); for vfsmon and funcmon functions (names, by the number in the events' names) and
# cache_page_B (a page of the page cache).
# Made for every awk, busybox's and mawk's included: no hexadecimal numbers, no captures, no sorting.

function hex(text,    value, i) {
    value = 0
    for (i = 1; i <= length(text); i++)
        value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
}

# A number as the kernel prints it: decimal, or hexadecimal on kernels before 4.8.
function value_of(text) {
    return substr(text, 1, 2) == "0x" ? hex(substr(text, 3)) : text + 0
}

# The lower 32 bits, when the kernel knew no types and printed the whole register.
function word_of(text) {
    if (substr(text, 1, 2) == "0x" && length(text) > 10)
        return hex(substr(text, length(text) - 7))
    return value_of(text)
}

function signed_of(text) {
    if (substr(text, 1, 2) != "0x")
        return text
    # -1 to -4095, the kernel's errors, in 32 or 64 bits.
    if (text ~ /^0x(ffffffff)?fffff[0-9a-f][0-9a-f][0-9a-f]$/)
        return hex(substr(text, length(text) - 2)) - 4096
    return value_of(text)
}

function put(line) {
    events++
    print line
}

# ---- flashmon ----------------------------------------------------------------------------------------------------

function flash(type, address, bytes) {
    if (from_B != "" && (address * (type == "E" ? block_B : page_B) < from_B || \
        address * (type == "E" ? block_B : page_B) >= from_B + size_B))
        return
    put(t ";" type ";" address ";" task ";" pid ";" bytes)
}

function flash_chip_level(    page, off, len) {
    page = word_of(arg["page"])
    off = word_of(arg["off"])
    len = word_of(arg["len"])
    if (event == "erase_op") {
        flash("E", page, block_B)
    } else if (event == "read_oob_op") {
        flash("r", page, len)
        # A driver with nand_operation does it by nand_read_page_op, which is next then and no further read.
        inner[pid] = page
        return
    } else if (event == "read_page_op") {
        if (off < page_B)
            flash("R", page, len ? len : page_B)
        else if (!(pid in inner) || inner[pid] != page)
            flash("r", page, len)
    } else if (off < page_B) {
        flash("W", page, len ? len : page_B)
    } else {
        flash("w", page, len)
    }
    delete inner[pid]
}

# READ0 (with a page), READOOB, SEQIN, ERASE1 (include/linux/mtd/rawnand.h).
function flash_command_level(    command, off, page) {
    command = word_of(arg["command"])
    off = word_of(arg["off"])
    page = word_of(arg["page"])
    if (page == 4294967295)
        return
    if (command == 0)
        flash(off < page_B ? "R" : "r", page, off < page_B ? page_B : oob_B)
    else if (command == 80)
        flash("r", page, oob_B)
    else if (command == 128)
        flash(off < page_B ? "W" : "w", page, off < page_B ? page_B : oob_B)
    else if (command == 96)
        flash("E", int(page * page_B / block_B), block_B)
}

# Level nor as well. NOR reads any bytes at once, so a call that reads is one operation there.
function flash_mtd_level(    from, len, left, part, page) {
    if ("from" in arg) {
        from = value_of(arg["from"])
        for (left = value_of(arg["len"]); left > 0; left -= block_B) {
            flash("E", int(from / block_B), block_B)
            from += block_B
        }
        return
    }
    from = value_of(arg["low"])
    if ("high" in arg)
        from += value_of(arg["high"]) * 4294967296
    len = value_of(arg["len"])
    if (len == 0) {
        flash(event ~ /write/ ? "w" : "r", int(from / page_B), value_of(arg["ooblen"]))
        return
    }
    if (level == "nor" && event !~ /write/) {
        flash("R", int(from / page_B), len)
        return
    }
    while (len > 0) {
        page = int(from / page_B)
        part = (page + 1) * page_B - from
        if (part > len)
            part = len
        flash(event ~ /write/ ? "W" : "R", page, part)
        from += part
        len -= part
    }
}

function flash_named(    type) {
    type = substr(event, 7, 1)
    flash(type, word_of(arg["page"]), type == "E" ? block_B : page_B)
}

# ---- vfsmon, funcmon ---------------------------------------------------------------------------------------------

function known(name) {
    return name in arg ? arg[name] : ""
}

function begin_call(    depth) {
    depth = ++depths[pid]
    call_of[pid, depth] = number
    from_of[pid, depth] = t
    tail_of[pid, depth] = ""
    if (kind == "vfsmon") {
        inode = "ino" in arg && value_of(arg["ino"]) ? value_of(arg["ino"]) : ""
        offset = known("pos")
        if (offset != "")
            offset = value_of(offset)
        if ("index" in arg)
            offset = value_of(arg["index"]) * cache_page_B
        bytes = "bytes" in arg ? value_of(arg["bytes"]) : "pages" in arg ? value_of(arg["pages"]) * cache_page_B : ""
        tail_of[pid, depth] = ";" inode ";" offset ";" bytes
    }
}

# busybox before 1.31 takes a name, a space and a parenthesis for a call of a function.
function line_of(depth, duration, result,    line) {
    line = from_of[pid, depth] ";" duration ";" name_of[call_of[pid, depth]] ";" task ";" pid
    return kind == "vfsmon" ? line tail_of[pid, depth] ";" result : line
}

function end_call(    depth) {
    # Calls above it whose end was missed are over, too.
    for (depth = depths[pid] + 0; depth > 0 && call_of[pid, depth] != number; depth--)
        ;
    if (depth == 0)
        return # it began before the trace did
    put(line_of(depth, sprintf("%.0f", (t - from_of[pid, depth]) * 1e6), "ret" in arg ? signed_of(arg["ret"]) : ""))
    depths[pid] = depth - 1
    task_of[pid] = task
}

# ---- lines -------------------------------------------------------------------------------------------------------

BEGIN {
    n = split(functions, name_of, " ")
    events = 0
    lost_lines = 0
    if (!cache_page_B)
        cache_page_B = 4096
}

# In a stream the kernel says where events are missing.
/\[LOST [0-9]+ EVENTS\]/ {
    match($0, /LOST [0-9]+/)
    lost_lines += substr($0, RSTART + 5, RLENGTH - 5)
    next
}

/^#/ { next }

{
    # "task-pid [cpu] flags seconds: event: (function+0x0/0x1) name=value ..."; tasks may have any name.
    if (!match($0, / \[[0-9][0-9]*\] /))
        next
    task = substr($0, 1, RSTART - 1)
    rest = substr($0, RSTART + RLENGTH)
    sub(/ +\([ 0-9-]*\) *$/, "", task)
    sub(/ +$/, "", task)
    match(task, /-[0-9]+$/)
    pid = substr(task, RSTART + 1)
    task = substr(task, 1, RSTART - 1)
    sub(/^ +/, "", task)
    gsub(/;/, ",", task)
    if (!match(rest, /[0-9]+\.[0-9]+: /))
        next
    t = substr(rest, RSTART, RLENGTH - 2)
    rest = substr(rest, RSTART + RLENGTH)
    colon = index(rest, ": ")
    event = substr(rest, 1, colon - 1)
    rest = substr(rest, colon + 2)
    if (event == "tracing_mark_write" || event == "0") {
        put(t ";M;;" rest)
        next
    }
    if (task == "<...>" && pid in comm)
        task = comm[pid]
    else if (task != "<...>")
        comm[pid] = task
    split("", arg)
    n = split(rest, words, " ")
    for (i = 1; i <= n; i++) {
        equals = index(words[i], "=")
        if (equals)
            arg[substr(words[i], 1, equals - 1)] = substr(words[i], equals + 1)
    }
    if (kind == "flashmon") {
        if ("chip" in arg && !(arg["chip"] in chips)) {
            chips[arg["chip"]] = 1
            chip_count++
        }
        if (level == "chip")
            flash_chip_level()
        else if (level == "command")
            flash_command_level()
        else if (level == "mtd" || level == "nor")
            flash_mtd_level()
        else
            flash_named()
        next
    }
    number = event
    sub(/^[a-z]*_/, "", number)
    if (event ~ /^enter_[0-9]+$/)
        begin_call()
    else if (event ~ /^leave_[0-9]+$/)
        end_call()
}

END {
    # Calls that are still under way.
    for (pid in depths)
        for (depth = 1; depth <= depths[pid]; depth++) {
            task = comm[pid]
            put(line_of(depth, "", ""))
        }
    if (chip_count > 1)
        print "ffslab-probe: " chip_count " chips were seen; the log mixes their addresses" > "/dev/stderr"
    print "# events: " events + 0 " " lost_lines + 0 > counts
}
