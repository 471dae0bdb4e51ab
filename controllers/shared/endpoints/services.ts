import type {Change} from '#informers/change.js';
import type {Lister} from '#informers/lister.js';
import {selecting} from '#informers/selecting.js';
import {sameContent, sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {selectorForLabels} from '#src/api/selectors/label-selector.js';
import {mapInSteps, type Steps} from '#src/base/steps.js';
import {isReady, isTerminal} from '#src/model/pod/state.js';
import {selectedPods} from '#controllers/shared/children/selected.js';

export type Service = ObjectOf<typeof kinds.services>;

/** Finds services by the labels of pods. */
export const services = selecting<Service, Record<string, string>>(({spec}) => spec?.selector, selectorForLabels);

/** Whether the service has a selector. Without one its endpoints are managed manually. */
export const hasSelector = ({spec}: Frozen<Service>): boolean => Object.keys(spec?.selector ?? {}).length > 0;

/** Whether the service's ports lead to the same ports of all pods: none refers to them by name. */
export const hasFixedPorts = function* ({spec}: Frozen<Service>): Steps<boolean> {
  const areNumbers = yield* mapInSteps(spec?.ports ?? [], ({targetPort}) => typeof targetPort !== 'string');
  return areNumbers.every(Boolean);
};

/** Whether the service has no cluster IP. */
export const isHeadless = ({spec}: Frozen<Service>): boolean => !spec?.clusterIP || spec.clusterIP === 'None';

/** Returns the pods that a service selects. */
export const podsOfService = (pods: Lister<Pod>, service: Frozen<Service>): readonly Frozen<Pod>[] => {
  const selector = hasSelector(service) ? services.selectorOf(service) : undefined;
  return selector ? selectedPods(pods, service.metadata?.namespace ?? '', selector) : [];
};

/**
 * Returns the fields of a pod that its endpoints depend on, besides labels. Its node is left out: it is set before the
 * pod has an address, and never changes.
 */
const endpointFields = (pod: Frozen<Pod>): readonly unknown[] => {
  const {hostname, subdomain} = pod.spec ?? {};
  return [
    pod.metadata?.deletionTimestamp,
    isReady(pod),
    isTerminal(pod),
    hostname,
    subdomain,
    ...(pod.status?.podIPs ?? []).map(({ip}) => ip),
  ];
};

/**
 * Returns the services whose endpoints may change after a change of a pod: those that select it, before or after. If
 * only the labels changed, services that select it in both states are left out.
 */
export const servicesOfPodChange = (change: Change<Pod>, lister: Lister<Service>): readonly ObjectKey[] => {
  const of = (pod: Frozen<Pod>) => new Map(services.parentsOf(lister, pod).map(service => [keyText(keyOf(service)), keyOf(service)]));
  if (change.type !== 'updated') return [...of(change.object).values()];
  const {old, object} = change;
  const differs = !sameJson(endpointFields(old), endpointFields(object));
  const labelsChanged = !sameContent(old.metadata?.labels, object.metadata?.labels);
  if (!differs && !labelsChanged) return [];
  const now = of(object);
  if (!labelsChanged) return [...now.values()];
  const before = of(old);
  const all = [...new Map([...before, ...now])];
  return all.filter(([text]) => differs || before.has(text) !== now.has(text)).map(([, key]) => key);
};
