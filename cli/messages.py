"""Every message about input that rmctl itself refuses, in one table."""

from __future__ import annotations

EMPTY = "empty manifest"
TOP_LEVEL = "manifest must be an object or a List"
NOT_UTF8 = "not UTF-8 at byte {at}"
UTF16 = "not UTF-8 (it looks like UTF-16)"
TOO_LARGE = "larger than {limit} bytes ({mib} MiB)"
SPEC_TOO_LARGE = "spec is {size} bytes, limit is 1048576 (1 MiB)"
TOO_DEEP = "nesting deeper than {limit}"

END_OF_JSON = "unexpected end of JSON"
TRAILING = "data after the end of the document"
UNEXPECTED = 'expected {expected}, found "{found}"'
CONSTANT = "{name} is not JSON"
NOT_NUMBER = '"{text}" is not a number'
BIG_INTEGER = "integer outside the 64-bit range"
BIG_NUMBER = "number out of range"
DUPLICATE_KEY = 'duplicate key "{key}"'
BAD_ESCAPE = "bad escape in a text"
RAW_CONTROL = "control character in a text; write it as \\u{code:04x}"
NOT_UNICODE = "not valid Unicode text"

ALIAS = "aliases are not allowed"
TAG = "tags are not allowed ({tag})"
KEY_NOT_TEXT = "keys are texts, got {found}"

ITEMS = "items: expected a list of objects"
SAME_TWICE = "{shown}: defined twice (documents {first} and {second})"
SEED_STATE = 'state: only "live" can be asked for'
SEED_REPLICA_COUNT = "replicaCount: not set by people, it follows from resiliencePolicy"

NO_FILE = "no such file"
DIRECTORY = "no .json, .yaml or .yml files in this directory"
FIFO = "is a FIFO; use -f - to read from a pipe"
SOCKET = "is a socket, not a file"
UNREADABLE = "cannot be read: {why}"
REMOTE = "only files are read, nothing is fetched; download it first"
NO_INPUT = "nothing to read: give -f FILE, -f DIRECTORY or -f -"

DURATION = 'duration "{text}": write it as 90s, 10m or 1h30m, above zero and at most 366d'
SERVER_ADDRESS = '"{text}" is not unix:PATH, HOST:PORT, http://HOST:PORT or https://HOST:PORT'
SOCKET_PATH = "socket path is {size} bytes, limit 107"
UNKNOWN_KIND = 'unknown kind "{kind}"{near}'
NAME_NEEDED = "{kind}: a name is needed, as KIND NAME or KIND/NAME"
BAD_NAME = '{kind} name "{name}": {problem}'
JOB_NAME = "expected BUNDLE/ROLE/JOB with the role primary or backup"
OUTPUT = '-o "{text}": one of {allowed}'
NO_OUTPUT = '-o "{text}": this verb has no -o'
JSONPATH = "jsonpath: {problem}"
FOR = '--for "{text}": one of Ready, delete, condition=TYPE[=STATUS], jsonpath=EXPRESSION[=VALUE]'
DRY_RUN = '--dry-run "{text}": one of client, server'

UNREACHABLE = "no server answers at {address}: {why}"
NOT_RMCTL = "what answers at {address} is no rmctl server: {why}"
NO_TLS = "{address}: the server expects TLS"
NOT_TRUSTED = "{address}: the server's certificate is not trusted: {why}"
NOT_TLS = "{address}: the server speaks plain HTTP"
BAD_PEM = "{path}: not a certificate that can be used: {why}"
LOST = "the connection to {address} was lost before the answer: {why}"
SKEW = "the server at {address} is version {server}, this is rmctl {client}: too far apart"
LOOSE_CONTEXTS = "{path} holds a token and others can read it; chmod 600 it"
BAD_CONTEXTS = "{path}: {problem}"
NO_CONTEXT = '{path} has no context "{name}"'

KINDS_HINT = "rmctl api-resources lists the kinds"
AUTHORITY_HINT = "name its CA with RMCTL_AUTHORITY or in a context; `rmctl config authority` on the server prints it"
START_HINT = "start one with `rmctl server`, or name it with --server or RMCTL_SERVER"
