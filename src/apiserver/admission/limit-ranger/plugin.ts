import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Container, Pod, PodSpec} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {isForKind, combinedMessage} from '#src/apiserver/admission/request-kind.js';
import {checkWork} from '#src/apiserver/request/large.js';
import {claimObjections, comparisonsWith, podObjections, type Claim, type LimitRange} from './limit-ranges.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

export interface LimitRangerParts {
  readonly naming: Naming;
  readonly reader: Reader;
  gate(name: string): boolean;
}

type List = Record<string, string>;

/** Sets missing values, and returns a description of them. */
const fill = (container: Container, defaults: {readonly requests: List; readonly limits: List}, what: string): string[] => {
  const notes: string[] = [];
  for (const [field, singular] of [
    ['requests', 'request'],
    ['limits', 'limit'],
  ] as const) {
    const missing = Object.entries(defaults[field]).filter(([name]) => container.resources?.[field]?.[name] === undefined);
    if (missing.length === 0) continue;
    const resources = (container.resources ??= {});
    resources[field] = {...resources[field], ...Object.fromEntries(missing)};
    notes.push(
      `${missing
        .map(([name]) => name)
        .sort()
        .join(', ')} ${singular} for ${what} ${container.name}`,
    );
  }
  return notes;
};

const fillPod = (pod: Pod & {spec: PodSpec}, {spec: range}: Readonly<LimitRange>, key: string): void => {
  const containers = (range?.limits ?? []).filter(({type}) => type === 'Container');
  const defaults = {
    requests: Object.assign({}, ...containers.map(limit => limit.defaultRequest ?? {})) as List,
    limits: Object.assign({}, ...containers.map(limit => limit.default ?? {})) as List,
  };
  const notes = [
    ...(pod.spec.containers ?? []).flatMap(container => fill(container, defaults, 'container')),
    ...(pod.spec.initContainers ?? []).flatMap(container => fill(container, defaults, 'init container')),
  ];
  if (notes.length > 0) ((pod.metadata ??= {}).annotations ??= {})[key] = `LimitRanger plugin set: ${notes.join('; ')}`;
};

/** The most values of limit ranges that are compared with the containers of one pod: some hundreds of milliseconds. */
const mostComparisons = 200_000;

const containerCount = ({spec}: Partial<Pod>): number => (spec?.containers?.length ?? 0) + (spec?.initContainers?.length ?? 0);

/**
 * Refuses a request that would take too long with these ranges, or moves it to the other thread: each value is compared
 * with each container.
 */
const checkComparisons = (attributes: AdmissionAttributes, ranges: readonly Readonly<LimitRange>[]): void => {
  const containers = Math.max(1, containerCount(attributes.object as Partial<Pod>));
  const comparisons = ranges.reduce((sum, range) => sum + comparisonsWith(range, containers), 0);
  if (comparisons > mostComparisons)
    throw refuse(
      attributes,
      `its containers would be compared with limit ranges ${comparisons} times, at most ${mostComparisons} are possible`,
    );
  checkWork(attributes.original ?? {}, comparisons);
};

/** Applies the limit ranges of a namespace: defaults of containers, and limits of pods and claims. */
export const limitRanger = ({naming, reader, gate}: LimitRangerParts): AdmissionPlugin => {
  const isPod = (attributes: AdmissionAttributes): boolean =>
    (attributes.operation === 'CREATE' && isForKind(attributes, naming, kinds.pods)) ||
    (attributes.operation === 'UPDATE' && isForKind(attributes, naming, kinds.pods, 'resize'));
  const isClaim = (attributes: AdmissionAttributes): boolean => isForKind(attributes, naming, kinds.persistentVolumeClaims);
  const rangesFor = async (attributes: AdmissionAttributes): Promise<readonly Readonly<LimitRange>[]> => {
    const {namespace, oldObject} = attributes;
    if (oldObject?.metadata?.deletionTimestamp) return [];
    const ranges = await reader.list(kinds.limitRanges, namespace);
    checkComparisons(attributes, ranges);
    return ranges;
  };

  return {
    name: 'LimitRanger',
    handles: {
      operations: ['CREATE', 'UPDATE'],
      targets: [...targetsOf(naming, kinds.pods, '', 'resize'), ...targetsOf(naming, kinds.persistentVolumeClaims)],
    },
    changes: ['metadata.annotations', 'spec.containers[].resources', 'spec.initContainers[].resources'],
    async admit(attributes) {
      if (!isPod(attributes)) return;
      const ranges = await rangesFor(attributes);
      if (ranges.length === 0) return;
      const pod = attributes.object as Pod & {spec: PodSpec};
      for (const range of ranges) fillPod(pod, range, naming.key('limit-ranger'));
    },
    async validate(attributes) {
      const ofPod = isPod(attributes);
      if (!ofPod && !isClaim(attributes)) return;
      for (const range of await rangesFor(attributes)) {
        const {object} = attributes;
        const why = [
          ...(ofPod
            ? podObjections((object as Pod & {spec: PodSpec}).spec, range, gate('PodLevelResources'))
            : claimObjections(object as Claim, range)),
        ];
        if (why.length > 0) throw refuse(attributes, combinedMessage(why));
      }
    },
  };
};
