/* Programs beside the measured steps: each is a process of its own with a file of steps.
 *
 * They are made before the setup, so that it does not matter what that takes, and begin when the first measured step does. One in the background that comes to the end of its steps closes its files and begins
 * again; it is killed when the others and the measured steps have ended. */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS_MAX = 16 };

static struct program { char name[64], file[64], out[80]; int background; pid_t pid; } programs[PROGRAMS_MAX];
static int programs_n;
/* A pipe that is closed when they begin. */
static int start[2];

/* Lines in front of a line "go" are done at once, the others when the programs are started; once, or again and again. */
static void run_program(const struct program *program)
{
    char *line = NULL, byte;
    size_t room = 0;
    be_program(program->out);
    FILE *lines = fopen(program->file, "r");
    if (!lines)
        fail("%s: %s", program->file, strerror(errno));
    while (getline(&line, &room, lines) > 0 && strcmp(line, "go\n") != 0)
        one_line(line);
    long first = ftell(lines);
    if (read(start[0], &byte, 1) < 0)
        fail("%s", strerror(errno));
    do {
        fseek(lines, first, SEEK_SET);
        while (getline(&line, &room, lines) > 0)
            one_line(line);
        close_all();
    } while (program->background);
    _exit(0);
}

void step_program(void)
{
    if (programs_n == PROGRAMS_MAX)
        fail("more than %d programs", PROGRAMS_MAX);
    if (!programs_n)
        must(pipe(start));
    struct program *program = &programs[programs_n++];
    snprintf(program->name, sizeof program->name, "%s", text("name", NULL));
    snprintf(program->file, sizeof program->file, "%s", text("file", NULL));
    snprintf(program->out, sizeof program->out, "/tmp/program.%d", programs_n);
    program->background = strcmp(text("background", "false"), "true") == 0;
    program->pid = fork();
    must(program->pid);
    if (program->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(start[1]);
        run_program(program);
    }
}

int has_programs(void)
{
    return programs_n > 0;
}

void start_programs(void)
{
    if (!programs_n)
        return;
    close(start[0]);
    close(start[1]);
}

static void ended_well(const struct program *program, int status)
{
    char line[256] = "no reason given", last[256] = "";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    FILE *out = fopen(program->out, "r");
    while (out && fgets(line, sizeof line, out))
        if (strncmp(line, "failed ", 7) == 0)
            snprintf(last, sizeof last, "%.*s", (int)strcspn(line + 7, "\n"), line + 7);
    fail("program %s: %s", program->name, *last ? last : line);
}

void join_programs(void)
{
    int status;
    for (int i = 0; i < programs_n; i++) {
        if (programs[i].background)
            continue;
        must(waitpid(programs[i].pid, &status, 0));
        ended_well(&programs[i], status);
    }
}

void end_programs(void)
{
    int status;
    for (int i = 0; i < programs_n; i++) {
        if (!programs[i].background)
            continue;
        /* One that has failed has ended already. */
        if (waitpid(programs[i].pid, &status, WNOHANG) > 0)
            ended_well(&programs[i], status);
        kill(programs[i].pid, SIGKILL);
        must(waitpid(programs[i].pid, &status, 0));
    }
}
