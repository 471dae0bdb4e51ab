import type {AnyContainer, Lifecycle, LifecycleHandler, Pod, PodSpec, PodTemplateSpec, Probe, ResourceRequirements, Volume} from '#src/api/pod.js';
import {formatQuantity, parseQuantity, quantityMilliValue, milliQuantity} from '#src/api/quantity.js';
import {containerLimits, containerRequests, written} from '#src/model/pod/requests.js';
import type {HookContext} from '#src/resources/definition.js';
import {isHugePages, isPodLevelResource} from '#src/model/resource-names.js';
import {mayOvercommit} from '#src/resources/validation/resource-names.js';
import {everyContainer} from './containers.js';
import {followsLatest} from './image-name.js';

export type DefaultContext = Pick<HookContext, 'naming' | 'gate'>;

const pullPolicyOf = (image: string): string => (followsLatest(image) ? 'Always' : 'IfNotPresent');

/** Amounts finer than a thousandth are rounded up to one. */
const roundUp = (list: Record<string, string> | undefined): void => {
  for (const [name, text] of Object.entries(list ?? {})) {
    const quantity = parseQuantity(text);
    if (quantity.exponent < -3) list![name] = formatQuantity(milliQuantity(quantityMilliValue(quantity), quantity.format));
  }
};

const defaultHandler = (handler: LifecycleHandler & Pick<Probe, 'grpc'>): void => {
  const {httpGet} = handler;
  if (!httpGet) return;
  httpGet.path ||= '/';
  httpGet.scheme ||= 'HTTP';
};

const defaultProbe = (probe: Probe): void => {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHandler(probe);
};

const defaultLifecycle = ({postStart, preStop}: Lifecycle): void => {
  if (postStart) defaultHandler(postStart);
  if (preStop) defaultHandler(preStop);
};

const defaultContainer = (container: AnyContainer): void => {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.resources ??= {};
  roundUp(container.resources.limits);
  roundUp(container.resources.requests);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const {valueFrom} of container.env ?? []) if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1';
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) if (probe) defaultProbe(probe);
  if (container.lifecycle) defaultLifecycle(container.lifecycle);
};

const openFile = 0o644;
const tokenSeconds = 3600;

const isBare = (volume: Volume): boolean => Object.entries(volume).every(([field, value]) => field === 'name' || value === undefined || value === null);

const defaultProjected = (projected: NonNullable<Volume['projected']>): void => {
  projected.defaultMode ??= openFile;
  for (const {serviceAccountToken, downwardAPI} of projected.sources ?? []) {
    if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= tokenSeconds;
    for (const {fieldRef} of downwardAPI?.items ?? []) if (fieldRef) fieldRef.apiVersion ||= 'v1';
  }
};

/** Sources that are called what they were, with what the schemas' own defaults do not reach. */
const defaultVolume = (volume: Volume): void => {
  if (isBare(volume)) volume.emptyDir = {};
  const {secret, configMap, downwardAPI, projected, hostPath, image, ephemeral} = volume;
  for (const source of [secret, configMap, downwardAPI]) if (source) source.defaultMode ??= openFile;
  for (const {fieldRef} of downwardAPI?.items ?? []) if (fieldRef) fieldRef.apiVersion ||= 'v1';
  if (projected) defaultProjected(projected);
  if (hostPath) hostPath.type ??= '';
  if (image) image.pullPolicy ||= pullPolicyOf(image.reference ?? '');
  const claim = ephemeral?.volumeClaimTemplate?.spec;
  if (!claim) return;
  claim.volumeMode ??= 'Filesystem';
  roundUp(claim.resources?.limits);
  roundUp(claim.resources?.requests);
};

/** The account has two names of which the newer one wins; both are shown. */
const agreeOnAccount = (spec: PodSpec): void => {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (name) Object.assign(spec, {serviceAccountName: name, serviceAccount: name});
  else {
    delete spec.serviceAccountName;
    delete spec.serviceAccount;
  }
};

/** Fills in what every spec of a pod has, in pods and in templates alike. */
export const defaultPodSpec = (spec: PodSpec): void => {
  spec.containers ??= [];
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= 'default-scheduler';
  agreeOnAccount(spec);
  roundUp(spec.overhead);
  roundUp(spec.resources?.limits);
  roundUp(spec.resources?.requests);
  for (const {container} of everyContainer(spec)) defaultContainer(container);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
};

/** On the node's network a port that is told is the node's. */
const hostPortsOf = ({hostNetwork, containers, initContainers}: PodSpec): void => {
  if (!hostNetwork) return;
  for (const {ports = []} of [...(containers ?? []), ...(initContainers ?? [])]) for (const port of ports) port.hostPort ||= port.containerPort;
};

/** Fills in a template of pods. */
export const defaultPodTemplate = (template: PodTemplateSpec | undefined): void => {
  if (template?.spec) defaultPodSpec(template.spec);
};

/** What is limited is asked for to the same amount, unless said otherwise. */
const requestLimits = (resources: ResourceRequirements | undefined): void => {
  if (resources?.limits) resources.requests = {...resources.limits, ...resources.requests};
};

const supported = (amounts: Record<string, string>, which: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => isPodLevelResource(name) && which(name)));

const isEmpty = (list: object | undefined): boolean => !list || Object.keys(list).length === 0;

/** Amounts of the pod as a whole, as far as some of them are said (KEP-2837). */
const defaultWholePod = (spec: PodSpec, {naming}: DefaultContext): void => {
  const {resources} = spec;
  if (!resources || (isEmpty(resources.limits) && isEmpty(resources.requests))) return;
  const limits = written(containerLimits(spec));
  const asked = resources.requests ?? {};
  const pages = supported(limits, name => isHugePages(name) && asked[name] === undefined);
  if (!isEmpty(pages) || resources.limits) resources.limits = {...pages, ...resources.limits};
  if (!isEmpty(resources.limits)) {
    const sums = supported(written(containerRequests(spec)), name => mayOvercommit(name, naming));
    const requests = {...supported(resources.limits!, () => true), ...sums, ...resources.requests};
    if (!isEmpty(requests)) resources.requests = requests;
  }
};

/** Fills in a pod: what every spec has, and what only a pod that is to run needs. */
export const defaultPod = (pod: Pod, context: DefaultContext): void => {
  const spec = (pod.spec ??= {containers: []});
  defaultPodSpec(spec);
  hostPortsOf(spec);
  for (const {container, sort} of everyContainer(spec)) if (sort !== 'ephemeral') requestLimits(container.resources);
  if (context.gate('PodLevelResources')) defaultWholePod(spec, context);
  spec.enableServiceLinks ??= true;
  agreeOnAddresses(pod);
};

/** One address and the list of addresses say the same: where they differ the one counts, for the sake of those who know no list. */
const agreeOnAddresses = ({status}: Pod): void => {
  if (!status) return;
  const {podIP, podIPs} = status;
  if (podIP && podIPs?.[0]?.ip !== podIP) status.podIPs = [{ip: podIP}];
  else if (!podIP && podIPs?.[0]?.ip) status.podIP = podIPs[0].ip;
};
