import {parseDuration} from '#src/api/duration.js';
import {labelKeyProblems} from '#src/api/names.js';
import {dynamicResourcesWith} from '#src/scheduler/filters/dynamic-resources.js';
import {interPodAffinityWith} from '#src/scheduler/filters/inter-pod-affinity.js';
import {nodeResourcesFitIgnoring} from '#src/scheduler/filters/node-resources-fit.js';
import {podTopologySpreadWith} from '#src/scheduler/filters/pod-topology-spread.js';
import type {Filter, Score} from '#src/scheduler/framework/plugin.js';
import type {Profile} from '#src/scheduler/profile.js';
import {
  resourceAllocation,
  type AllocationStrategy,
  type ShapePoint,
  type WeightedResource,
} from '#src/scheduler/scores/allocation-strategy.js';
import {interPodAffinityBy} from '#src/scheduler/scores/inter-pod-affinity.js';
import {podTopologySpreadBy} from '#src/scheduler/scores/pod-topology-spread.js';
import type {DefaultConstraint} from '#src/scheduler/topology/constraints.js';
import {boolOf, listOf, numberOf, objectOf, oneOf, textOf, invalid} from './fields.js';

type Fields = Readonly<Record<string, unknown>>;
type Change = (profile: Profile) => Profile;

const replaced = <T extends Filter | Score>(all: readonly T[], by: T): T[] =>
  all.map(each => (each.plugin === by.plugin ? {...by, ...('weight' in each ? {weight: each.weight} : {})} : each));

const withFilter = (profile: Profile, filter: Filter): Profile => ({...profile, filters: replaced(profile.filters, filter)});
const withScore = (profile: Profile, score: Score): Profile => ({...profile, scores: replaced(profile.scores, score)});

const resource = (value: unknown, path: string): WeightedResource => {
  const {name, weight} = objectOf(value, path, ['name', 'weight']);
  return {name: textOf(name, `${path}.name`), weight: numberOf(weight, `${path}.weight`, {min: 1, max: 100, fallback: 1})};
};

const shapePoint = (value: unknown, path: string): ShapePoint => {
  const {utilization, score} = objectOf(value, path, ['utilization', 'score']);
  return {
    utilization: numberOf(utilization, `${path}.utilization`, {min: 0, max: 100, fallback: 0}),
    // Written as 0 to 10, used as 0 to 100.
    score: 10 * numberOf(score, `${path}.score`, {min: 0, max: 10, fallback: 0}),
  };
};

const defaultResources: readonly WeightedResource[] = [
  {name: 'cpu', weight: 1},
  {name: 'memory', weight: 1},
];

const strategyOf = (value: unknown, path: string): AllocationStrategy => {
  const fields = objectOf(value, path, ['type', 'resources', 'requestedToCapacityRatio']);
  const type = oneOf(fields['type'] ?? 'LeastAllocated', `${path}.type`, ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio']);
  const given = listOf(fields['resources'], `${path}.resources`, resource);
  const resources = given.length > 0 ? given : defaultResources;
  if (type !== 'RequestedToCapacityRatio') return {type, resources};
  const at = `${path}.requestedToCapacityRatio`;
  const shape = listOf(objectOf(fields['requestedToCapacityRatio'], at, ['shape'])['shape'], `${at}.shape`, shapePoint);
  if (shape.length === 0) invalid(`${at}.shape`, 'Required value: at least one point must be specified');
  const unsortedIndex = shape.findIndex(({utilization}, index) => index > 0 && utilization <= shape[index - 1]!.utilization);
  if (unsortedIndex > 0) invalid(`${at}.shape[${unsortedIndex}].utilization`, 'utilization values must be sorted in increasing order');
  return {type, resources, shape};
};

const fitArguments = (fields: Fields, path: string): Change => {
  const names = new Set(listOf(fields['ignoredResources'], `${path}.ignoredResources`, textOf));
  const groups = listOf(fields['ignoredResourceGroups'], `${path}.ignoredResourceGroups`, textOf);
  const invalidGroup = groups.findIndex(group => group.includes('/'));
  if (invalidGroup >= 0) invalid(`${path}.ignoredResourceGroups[${invalidGroup}]`, "resource group name can't contain '/'");
  const isIgnored = (name: string) => name.includes('/') && (names.has(name) || groups.includes(name.slice(0, name.indexOf('/'))));
  const strategy = fields['scoringStrategy'] === undefined ? undefined : strategyOf(fields['scoringStrategy'], `${path}.scoringStrategy`);
  return profile => {
    const filtered = withFilter(profile, nodeResourcesFitIgnoring(isIgnored));
    return strategy ? withScore(filtered, resourceAllocation(strategy)) : filtered;
  };
};

const constraint = (value: unknown, path: string): DefaultConstraint => {
  const fields = objectOf(value, path, ['maxSkew', 'topologyKey', 'whenUnsatisfiable']);
  const topologyKey = textOf(fields['topologyKey'], `${path}.topologyKey`);
  const [problem] = labelKeyProblems(topologyKey);
  if (problem !== undefined) invalid(`${path}.topologyKey`, problem);
  const maxSkew = numberOf(fields['maxSkew'], `${path}.maxSkew`, {min: 1, max: 2 ** 31 - 1, fallback: 0});
  if (maxSkew === 0) invalid(`${path}.maxSkew`, 'must be greater than zero');
  return {topologyKey, maxSkew, when: oneOf(fields['whenUnsatisfiable'], `${path}.whenUnsatisfiable`, ['DoNotSchedule', 'ScheduleAnyway'])};
};

const spreadArguments = (fields: Fields, path: string): Change => {
  const defaults = listOf(fields['defaultConstraints'], `${path}.defaultConstraints`, constraint);
  const type = oneOf(fields['defaultingType'] ?? 'System', `${path}.defaultingType`, ['System', 'List']);
  if (type === 'System' && defaults.length > 0) invalid(`${path}.defaultingType`, 'when .defaultConstraints are not empty must be List');
  return profile =>
    type === 'System' ? profile : withScore(withFilter(profile, podTopologySpreadWith(defaults)), podTopologySpreadBy(defaults));
};

const affinityArguments = (fields: Fields, path: string): Change => {
  const required = numberOf(fields['hardPodAffinityWeight'], `${path}.hardPodAffinityWeight`, {min: 0, max: 100, fallback: 1});
  const ignorePreferredTermsOfExistingPods = boolOf(
    fields['ignorePreferredTermsOfExistingPods'],
    `${path}.ignorePreferredTermsOfExistingPods`,
  );
  return profile =>
    withScore(
      withFilter(profile, interPodAffinityWith(ignorePreferredTermsOfExistingPods)),
      interPodAffinityBy({required, ignorePreferredTermsOfExistingPods}),
    );
};

const duration = (value: unknown, path: string, fallbackMs: number, leastMs: number): number => {
  if (value === undefined) return fallbackMs;
  const ms = parseDuration(textOf(value, path));
  if (ms === undefined) return invalid(path, `${JSON.stringify(value)} is no duration`);
  return ms >= leastMs ? ms : invalid(path, leastMs > 0 ? 'must be at least 1 second' : 'must be greater than or equal to zero');
};

const deviceArguments = (fields: Fields, path: string): Change => {
  const filterTimeoutMs = duration(fields['filterTimeout'], `${path}.filterTimeout`, 10_000, 0);
  const bindingTimeoutMs = duration(fields['bindingTimeout'], `${path}.bindingTimeout`, 600_000, 1_000);
  return profile => withFilter(profile, dynamicResourcesWith({filterTimeoutMs, bindingTimeoutMs}));
};

/** The plugins that accept arguments, with their fields. */
const configurablePlugins: Readonly<Record<string, {readonly fields: readonly string[]; read(fields: Fields, path: string): Change}>> = {
  DynamicResources: {fields: ['filterTimeout', 'bindingTimeout'], read: deviceArguments},
  NodeResourcesFit: {fields: ['ignoredResources', 'ignoredResourceGroups', 'scoringStrategy'], read: fitArguments},
  PodTopologySpread: {fields: ['defaultConstraints', 'defaultingType'], read: spreadArguments},
  InterPodAffinity: {fields: ['hardPodAffinityWeight', 'ignorePreferredTermsOfExistingPods'], read: affinityArguments},
};

/** Returns the profile with the plugin arguments of a configuration applied. */
export const withArguments = (value: unknown, path: string, profile: Profile): Profile => {
  const seen = new Set<string>();
  const changes = listOf(value, path, (item, at): Change => {
    const {name, args} = objectOf(item, at, ['name', 'args']);
    const plugin = textOf(name, `${at}.name`);
    if (seen.has(plugin)) invalid(`${at}.name`, `Duplicate value: ${JSON.stringify(plugin)}`);
    seen.add(plugin);
    const reader = Object.hasOwn(configurablePlugins, plugin) ? configurablePlugins[plugin] : undefined;
    if (!reader) return invalid(`${at}.name`, `${JSON.stringify(plugin)} cannot be configured here`);
    const {apiVersion: _, kind: __, ...fields} = objectOf(args, `${at}.args`, ['apiVersion', 'kind', ...reader.fields]);
    return reader.read(fields, `${at}.args`);
  });
  return changes.reduce((changed, change) => change(changed), profile);
};
