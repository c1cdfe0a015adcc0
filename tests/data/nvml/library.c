/* A library that answers as NVIDIA's does, from the file that FAKE_NVML names; it is read anew at every count. Lines:
   card UUID BUS MIB NAME... | lost N | ecc N COUNT | rows N | mig N | part N UUID MIB NAME... | link N M | switch N
   | pci N M LEVEL | xid N CODE (told once) | broken */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, NOT_LOADED = 9, TIMEOUT = 10, LOST = 15, UNKNOWN = 999 };

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct Device {
    char uuid[96], bus[32], name[96];
    unsigned long long mib, ecc;
    int is_part, lost, rows, mig, parts, links, on_switch, link[MOST], pci[MOST];
    struct Device *part[MOST];
} Device;
typedef struct { Device *device; unsigned long long type, data; unsigned gpu_instance, compute_instance; } Event;

static Device cards[MOST];
static Device pieces[MOST * 8];
static int count, piece_count, broken, xids_told;
static struct { int card; unsigned long long code; } xids[64];
static int xid_count;

static void look(void) {
    FILE *file = fopen(getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "/nonexistent", "r");
    char line[512], word[32], uuid[96], bus[32], name[96];
    int n, m, level;
    unsigned long long number;
    memset(cards, 0, sizeof cards);
    memset(pieces, 0, sizeof pieces);
    count = piece_count = broken = xid_count = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "card %95s %31s %llu %95[^\n]", uuid, bus, &number, name) == 4) {
            Device *card = &cards[count++];
            strcpy(card->uuid, uuid), strcpy(card->bus, bus), strcpy(card->name, name);
            card->mib = number;
            for (n = 0; n < MOST; n++) card->pci[n] = 50;
        } else if (sscanf(line, "part %d %95s %llu %95[^\n]", &n, uuid, &number, name) == 4) {
            Device *part = &pieces[piece_count++];
            strcpy(part->uuid, uuid), strcpy(part->name, name);
            part->mib = number, part->is_part = 1;
            cards[n].part[cards[n].parts++] = part;
        } else if (sscanf(line, "lost %d", &n) == 1) cards[n].lost = 1;
        else if (sscanf(line, "ecc %d %llu", &n, &number) == 2) cards[n].ecc = number;
        else if (sscanf(line, "rows %d", &n) == 1) cards[n].rows = 1;
        else if (sscanf(line, "mig %d", &n) == 1) cards[n].mig = 1;
        else if (sscanf(line, "switch %d", &n) == 1) cards[n].on_switch = 1;
        else if (sscanf(line, "link %d %d", &n, &m) == 2) cards[n].link[cards[n].links++] = m;
        else if (sscanf(line, "pci %d %d %d", &n, &m, &level) == 3) cards[n].pci[m] = cards[m].pci[n] = level;
        else if (sscanf(line, "xid %d %llu", &n, &number) == 2) xids[xid_count].card = n, xids[xid_count++].code = number;
        else if (sscanf(line, "%31s", word) == 1 && !strcmp(word, "broken")) broken = 1;
    }
    if (file) fclose(file);
}

int nvmlInitWithFlags(unsigned flags) { return flags || getenv("FAKE_NVML_NO_DRIVER") ? NOT_LOADED : OK; }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : code == UNKNOWN ? "Unknown Error" : "Other"; }
int nvmlSystemGetCudaDriverVersion(int *version) { return *version = 12040, OK; }
int nvmlDeviceGetCount_v2(unsigned *n) { look(); *n = count; return broken ? UNKNOWN : OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned n, Device **found) {
    if (n >= (unsigned)count) return INVALID;
    return *found = &cards[n], cards[n].lost ? LOST : OK;
}
int nvmlDeviceGetUUID(Device *d, char *text, unsigned size) { return snprintf(text, size, "%s", d->uuid), OK; }
int nvmlDeviceGetName(Device *d, char *text, unsigned size) { return snprintf(text, size, "%s", d->name), OK; }
int nvmlDeviceGetPciInfo_v3(Device *d, Pci *pci) {
    return memset(pci, 0, sizeof *pci), strcpy(pci->bus_id, d->bus), OK;
}
int nvmlDeviceGetMemoryInfo(Device *d, Memory *memory) { return memory->total = d->mib << 20, OK; }
int nvmlDeviceGetCudaComputeCapability(Device *d, int *major, int *minor) { return *major = 9, *minor = 0, (void)d, OK; }
int nvmlDeviceGetArchitecture(Device *d, unsigned *kind) { return *kind = 9, (void)d, OK; }
int nvmlDeviceGetTotalEccErrors(Device *d, int type, int counter, unsigned long long *errors) {
    return *errors = type == 1 && counter == 0 ? d->ecc : 0, OK;
}
int nvmlDeviceGetRemappedRows(Device *d, unsigned *fixed, unsigned *bad, unsigned *pending, unsigned *failed) {
    return *fixed = *bad = *pending = 0, *failed = d->rows, OK;
}
int nvmlDeviceGetTopologyCommonAncestor(Device *a, Device *b, int *level) {
    return a->is_part || b->is_part ? NOT_SUPPORTED : (*level = a->pci[b - cards], OK);
}
int nvmlDeviceGetNvLinkState(Device *d, unsigned link, unsigned *active) {
    if (link >= 4) return INVALID;
    return *active = link < (unsigned)(d->on_switch ? 4 : d->links), OK;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device *d, unsigned link, unsigned *kind) {
    return (void)link, *kind = d->on_switch ? 2 : 0, OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device *d, unsigned link, Pci *pci) {
    return nvmlDeviceGetPciInfo_v3(&cards[d->link[link]], pci);
}
int nvmlDeviceGetMigMode(Device *d, unsigned *now, unsigned *later) {
    if (strstr(d->name, "L4")) return NOT_SUPPORTED;
    return *now = *later = d->mig, OK;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *d, unsigned *most) { return (void)d, *most = 7, OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, unsigned n, Device **found) {
    return n >= (unsigned)d->parts ? NOT_FOUND : (*found = d->part[n], OK);
}
int nvmlEventSetCreate(void **set) { return *set = cards, OK; }
int nvmlDeviceRegisterEvents(Device *d, unsigned long long kinds, void *set) {
    return d->is_part || kinds != 8 || set != cards ? NOT_SUPPORTED : OK;
}
int nvmlEventSetWait_v2(void *set, Event *event, unsigned wait) {
    if (xids_told >= xid_count) return (void)set, (void)wait, TIMEOUT;
    memset(event, 0, sizeof *event);
    event->device = &cards[xids[xids_told].card];
    event->type = 8, event->data = xids[xids_told++].code;
    return OK;
}
