/** Flags of all programs. */
export const help = {
  help: {type: 'bool', help: 'Print this help and exit.', shorthand: 'h'},
  version: {
    type: 'version',
    help: '--version and --version=raw print version information and exit; --version=vX.Y.Z... sets the version that is reported.',
  },
} as const;

const modulePattern = /^[^=,]+=(\d+)$/;
const maxVerbosity = 2 ** 31 - 1;

export const verbosity = {
  v: {
    type: 'int32',
    label: 'int',
    help: 'Log verbosity; a higher number logs more. 1 and 2: what starts and stops; 3: requests; 4: why requests are refused, watches; 5: admission plugins, storage; 6: outgoing calls; 7: their headers; 8: bodies to 1 KiB; 9: to 10 KiB, and calls as commands; 10: to 64 KiB. Secrets, tokens and keys are never logged.',
    shorthand: 'v',
    range: {min: 0},
  },
  vmodule: {
    type: 'strings',
    label: 'pattern=N,...',
    help: 'Verbosity for single components, as pattern=N,... (text format only). A pattern is the name that stands before the bracket in the header of a line, for example httplog, roundtrip or a controller; * and ? stand for any text and any character. The first that matches decides.',
    check: (items: readonly string[]) => {
      const invalid = items.find(item => item !== '' && !(Number(modulePattern.exec(item)?.[1]) <= maxVerbosity));
      return invalid === undefined ? undefined : `"${invalid}" must be formatted as pattern=N, with N at most ${maxVerbosity}`;
    },
  },
} as const;

const logFormat = {
  'logging-format': {
    type: 'string',
    help: 'The form of log lines: text, or json for an object a line, which needs the gate LoggingBetaOptions.',
    default: 'text',
    oneOf: ['text', 'json'],
  },
} as const;

/** Logging flags of the `plat` commands. */
export const commandLogging = {...logFormat, ...verbosity} as const;

export const logging = {
  ...logFormat,
  'log-flush-frequency': {
    type: 'duration',
    help: 'The maximum time between flushes of the log. 0 disables buffering.',
    default: '5s',
    range: {min: '0'},
  },
  'log-text-info-buffer-size': {
    type: 'quantity',
    help: '[alpha] With split streams, the size of the buffer of info messages. 0 disables buffering. Needs the gate LoggingAlphaOptions.',
    default: '0',
    range: {min: 0},
    gate: 'LoggingAlphaOptions',
  },
  'log-text-split-stream': {
    type: 'bool',
    help: '[alpha] Write errors to standard error and everything else to standard output. Needs the gate LoggingAlphaOptions.',
    gate: 'LoggingAlphaOptions',
  },
} as const;

/** The key of an allow-list: `metric,label`. */
export const metricLabel = /^[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*$/;

export const metrics = {
  'allow-metric-labels': {
    type: 'map',
    help: 'Values a label of a metric may have, as <MetricName>,<LabelName>=<value>,<value>...; every other value is counted as "unexpected".',
    shownDefault: '[]',
    check: (labels: ReadonlyMap<string, string>) => {
      const invalid = [...labels.keys()].find(key => !metricLabel.test(key));
      return invalid === undefined ? undefined : `"${invalid}" must be formatted as <MetricName>,<LabelName>`;
    },
  },
  'allow-metric-labels-manifest': {
    type: 'path',
    help: 'A file with such an allow-list. --allow-metric-labels takes precedence.',
  },
  'disabled-metrics': {
    type: 'strings',
    help: 'Full names of metrics that are not collected. Takes precedence over --show-hidden-metrics-for-version.',
  },
  'show-hidden-metrics-for-version': {
    type: 'string',
    help: 'The previous minor release, as <major>.<minor>, whose hidden metrics are shown. Any other release is refused.',
    oneOf: ['', '1.34'],
  },
} as const;

export const featureGates = {
  'feature-gates': {
    type: 'componentMap',
    help: 'Feature gates to turn on or off, as component:Gate=true|false pairs, comma separated. The component may be left out and is then plat. Repeatable.',
  },
} as const;

/** Flags of version emulation. */
export const emulation = {
  'emulated-version': {
    type: 'strings',
    help: 'The release to behave as, as component=major.minor; the component may be left out and is then plat. From 1.32 to 1.35.',
    shownDefault: '1.35',
  },
  'min-compatibility-version': {
    type: 'strings',
    help: 'The lowest version of control-plane components to stay compatible with, as component=major.minor. From 1.32 to 1.35; must not exceed the emulated version.',
    shownDefault: '1.34',
  },
} as const;
