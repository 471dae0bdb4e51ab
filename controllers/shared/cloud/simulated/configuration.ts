import {parseDuration} from '#src/api/duration.js';
import {parseRange, type IpRange} from '#src/base/ip-address.js';
import {parseYaml} from '#src/schema/decode/yaml.js';

/** The calls that can be made to fail. */
export const calls = [
  'instances.exists',
  'instances.isShutDown',
  'instances.metadata',
  'instances.podRanges',
  'loadBalancers.get',
  'loadBalancers.ensure',
  'loadBalancers.update',
  'loadBalancers.ensureDeleted',
  'routes.list',
  'routes.create',
  'routes.delete',
] as const;
export type Call = (typeof calls)[number];

/** What happens to calls instead of, or before, their normal course. */
export interface Fault {
  readonly call: Call;
  /** The name of the node, service (`namespace/name`) or route that it concerns; all by default. */
  readonly of?: string;
  readonly error?: string;
  readonly retryAfterMs?: number;
  readonly delayMs?: number;
  readonly implementedElsewhere?: boolean;
  readonly notImplemented?: boolean;
}

/** The configuration of the simulated cloud. */
export interface Configuration {
  /** Where the state is kept; in memory by default. */
  readonly stateFile?: string;
  /** The ranges that load balancers get their addresses from, at most one of each IP family. */
  readonly addresses: readonly IpRange[];
  readonly region: string;
  readonly zone: string;
  readonly instanceType: string;
  readonly faults: readonly Fault[];
}

/** A range that is set aside for documentation (RFC 5737), so that no host is meant by accident. */
const defaultRange = '203.0.113.0/24';

type Fields = Readonly<Record<string, unknown>>;

const fail = (path: string, what: string): never => {
  throw new Error(`${path}: ${what}`);
};

/** Returns an object whose fields are all known. */
const fieldsOf = (value: unknown, path: string, known: readonly string[]): Fields => {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) return fail(path || 'the configuration', 'must be an object');
  const unknown = Object.keys(value).find(name => !known.includes(name));
  return unknown === undefined
    ? (value as Fields)
    : fail(path ? `${path}.${unknown}` : unknown, `unknown field: the fields are ${known.join(', ')}`);
};
const listOf = (value: unknown, path: string): readonly unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : fail(path, 'must be a list');
const textOf = (value: unknown, path: string): string | undefined =>
  value === undefined || typeof value === 'string' ? value : fail(path, 'must be a text');
const flagOf = (value: unknown, path: string): boolean | undefined =>
  value === undefined || typeof value === 'boolean' ? value : fail(path, 'must be true or false');
const durationOf = (value: unknown, path: string): number | undefined =>
  value === undefined ? undefined : (parseDuration(textOf(value, path) ?? '') ?? fail(path, 'must be a duration, such as 5s'));

const faultFields = ['call', 'of', 'error', 'retryAfter', 'delay', 'implementedElsewhere', 'notImplemented'];

const faultOf = (value: unknown, path: string): Fault => {
  const fields = fieldsOf(value, path, faultFields);
  const call = calls.find(each => each === fields['call']) ?? fail(`${path}.call`, `must be one of ${calls.join(', ')}`);
  const found = {
    of: textOf(fields['of'], `${path}.of`),
    error: textOf(fields['error'], `${path}.error`),
    retryAfterMs: durationOf(fields['retryAfter'], `${path}.retryAfter`),
    delayMs: durationOf(fields['delay'], `${path}.delay`),
    implementedElsewhere: flagOf(fields['implementedElsewhere'], `${path}.implementedElsewhere`),
    notImplemented: flagOf(fields['notImplemented'], `${path}.notImplemented`),
  };
  return {call, ...(Object.fromEntries(Object.entries(found).filter(([, each]) => each !== undefined)) as Omit<Fault, 'call'>)};
};

const rangesOf = (value: unknown, path: string): readonly IpRange[] => {
  const ranges = listOf(value ?? [defaultRange], path).map(
    (each, i) => parseRange(textOf(each, `${path}[${i}]`) ?? '') ?? fail(`${path}[${i}]`, 'must be a CIDR, such as 203.0.113.0/24'),
  );
  const families = new Set(ranges.map(({address}) => address.family));
  return families.size === ranges.length ? ranges : fail(path, 'must have at most one range of each IP family');
};

/** Parses a configuration, as YAML or JSON. Throws an error of one line that names the field. */
export const parseConfiguration = (content: string): Configuration => {
  const {value, problems} = parseYaml(content);
  if (problems[0]) throw new Error(problems[0].text);
  const fields = fieldsOf(value, '', ['stateFile', 'loadBalancers', 'region', 'zone', 'instanceType', 'faults']);
  const stateFile = textOf(fields['stateFile'], 'stateFile');
  const {cidrs} = fieldsOf(fields['loadBalancers'], 'loadBalancers', ['cidrs']);
  return {
    ...(stateFile ? {stateFile} : {}),
    addresses: rangesOf(cidrs, 'loadBalancers.cidrs'),
    region: textOf(fields['region'], 'region') ?? 'simulated',
    zone: textOf(fields['zone'], 'zone') ?? 'simulated-a',
    instanceType: textOf(fields['instanceType'], 'instanceType') ?? 'simulated',
    faults: listOf(fields['faults'], 'faults').map((each, i) => faultOf(each, `faults[${i}]`)),
  };
};
