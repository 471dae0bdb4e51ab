import {DecodeError} from '#src/schema/decode/error.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import type {MachineSettings, NodeRule} from './node-rule.js';
import type {Settings} from './behavior.js';
import {
  annotations,
  duration,
  exitCode,
  fieldsOf,
  items,
  labels,
  listOf,
  object,
  oneOf,
  pattern,
  patterns,
  quantities,
  RuleError,
  selector,
  durationRange,
  text,
  usage,
  wholeNumber,
  type Fields,
  type ValuesOf,
} from './fields.js';
import {logEntry} from './log-fields.js';
import {execRule, files, ports} from './stream-fields.js';
import {deviceRule, isOfDriver} from './device-fields.js';
import {volumeRule} from './volume-fields.js';
import {roles} from '#src/model/pod/spec-containers.js';
import type {PodMatch, PodRule, Rules} from './rules.js';

export {RuleError};

const taint = object({key: text, value: text, effect: oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])});

/** The fields of a rule of nodes. */
export const nodeFields = {
  names: listOf(pattern),
  capacity: quantities,
  allocatable: quantities,
  labels,
  annotations,
  taints: items((value, at) => {
    const {key, effect, ...rest} = taint.read(value, at);
    if (!key || !effect) throw new RuleError(at, 'must have a key and an effect');
    return {key, effect, ...rest};
  }),
  stopAfter: duration,
  stopFor: duration,
  maxVolumes: wholeNumber,
} satisfies Fields;

/** The match fields of containers, also in annotations of pods. */
const containerFields = {images: listOf(pattern), containers: listOf(pattern), roles: listOf(oneOf(roles))} satisfies Fields;

/** The match fields of a rule of pods. */
export const matchFields = {
  namespaces: listOf(pattern),
  names: listOf(pattern),
  nodes: listOf(pattern),
  labels: selector,
  annotations: patterns,
  ownerKinds: listOf(text),
  restartPolicies: listOf(oneOf(['Always', 'OnFailure', 'Never'])),
  ...containerFields,
} satisfies Fields;

/** The settings of a rule of pods. */
export const settingFields = {
  startAfter: durationRange,
  pullFor: durationRange,
  pullError: text,
  startedAfter: durationRange,
  readyAfter: durationRange,
  runFor: durationRange,
  exitCode: listOf(exitCode),
  exitReason: text,
  exitMessage: text,
  stopAfter: durationRange,
  stopExitCode: exitCode,
  log: listOf(logEntry, 'a line, or a list of lines'),
  exec: listOf(execRule),
  files,
  ports,
  stdin: oneOf(['echo', 'shell'] as const),
  usage: object({cpu: usage(1000), memory: usage(1)}),
} satisfies Fields;

const fieldPath = (at: string, name: string): string => (at ? `${at}.${name}` : name);

const settingsOf = ({exitCode: exitCodes, usage: used, ...rest}: ValuesOf<typeof settingFields>, at: string): Settings => {
  if (exitCodes?.length === 0) throw new RuleError(fieldPath(at, 'exitCode'), 'must not be empty');
  if (rest.exitReason !== undefined && !/^[A-Za-z]\w*$/.test(rest.exitReason))
    throw new RuleError(fieldPath(at, 'exitReason'), 'must be one word');
  return {...rest, ...(exitCodes ? {exitCodes} : {}), ...used};
};

const podRule =
  (match: Fields) =>
  (value: unknown, at: string): PodRule => {
    const {match: podMatch = {}, ...rest} = fieldsOf({match: object(match), ...settingFields}, value, at);
    return {match: podMatch as PodMatch, settings: settingsOf(rest, at)};
  };

const nodeRule = (value: unknown, at: string): NodeRule => {
  const {names, ...settings} = fieldsOf(nodeFields, value, at);
  if (settings.stopFor !== undefined && settings.stopAfter === undefined) throw new RuleError(`${at}.stopFor`, 'needs stopAfter');
  return {...(names ? {names} : {}), settings: settings as MachineSettings};
};

const fileFields = {
  nodes: items(nodeRule),
  pods: items(podRule(matchFields)),
  volumes: items(volumeRule),
  devices: items(deviceRule),
} satisfies Fields;

const yamlOf = (written: string): unknown => {
  try {
    const {value, problems} = parseYaml(written);
    if (problems[0]) throw new RuleError('', problems[0].text);
    return value;
  } catch (error) {
    if (error instanceof DecodeError) throw new RuleError('', error.message, {cause: error});
    throw error;
  }
};

/**
 * Reads a file of rules, YAML or JSON. Throws a `RuleError` with a one-line message that names the field and the
 * expected value.
 */
export const readRules = (written: string): Rules => {
  const value = yamlOf(written);
  const {nodes = [], pods = [], volumes = [], devices = []} = value === null ? {} : fieldsOf(fileFields, value, '');
  const resources = devices.flatMap(rule => (isOfDriver(rule) ? [] : [rule]));
  return {nodes, pods, volumes, devices: devices.filter(isOfDriver), resources};
};

const onPod = podRule(containerFields);

/** Reads the behavior annotation of a pod: one rule, or a list of them. Throws as `readRules`. */
export const readBehavior = (written: string): readonly PodRule[] => {
  const value = yamlOf(written);
  return Array.isArray(value) ? value.map((one, i) => onPod(one, `[${i}]`)) : [onPod(value, '')];
};
