import type {
  AnyContainer,
  EnvVar,
  Lifecycle,
  LifecycleHandler,
  PodSpec,
  PodTemplateSpec,
  Probe,
  Volume,
  ResourceRequirements,
} from '#src/api/pod.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {defaultVolumeSource} from '#src/model/volume-defaults.js';
import {containersOf} from './containers.js';
import {usesLatestTag} from './image-name.js';

const pullPolicyOf = (image: string): string => (usesLatestTag(image) ? 'Always' : 'IfNotPresent');

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
  if (probe.grpc) probe.grpc.service ??= '';
  defaultHandler(probe);
};

const defaultLifecycle = ({postStart, preStop}: Lifecycle): void => {
  if (postStart) defaultHandler(postStart);
  if (preStop) defaultHandler(preStop);
};

/** Defaults of downward API references: API version of fields, divisor of resources. */
const defaultReference = ({
  fieldRef,
  resourceFieldRef,
  fileKeyRef,
}: Pick<NonNullable<EnvVar['valueFrom']>, 'fieldRef' | 'resourceFieldRef' | 'fileKeyRef'>): void => {
  if (fieldRef) fieldRef.apiVersion ||= 'v1';
  if (resourceFieldRef) resourceFieldRef.divisor ??= '0';
  if (fileKeyRef) fileKeyRef.optional ??= false;
};

/** Sets missing requests to the limits: in pods, not in templates. */
export const requestLimits = (resources: ResourceRequirements | undefined): void => {
  if (resources?.limits) resources.requests = {...resources.limits, ...resources.requests};
};

const defaultContainer = (container: AnyContainer): void => {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.resources ??= {};
  roundResourceLists(container.resources.limits, container.resources.requests);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const {valueFrom} of container.env ?? []) if (valueFrom) defaultReference(valueFrom);
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) if (probe) defaultProbe(probe);
  if (container.lifecycle) defaultLifecycle(container.lifecycle);
};

const defaultFileMode = 0o644;
const tokenExpirationSeconds = 3600;

const hasNoSource = (volume: Volume): boolean =>
  Object.entries(volume).every(([field, value]) => field === 'name' || value === undefined || value === null);

const defaultProjected = (projected: NonNullable<Volume['projected']>): void => {
  projected.defaultMode ??= defaultFileMode;
  for (const {serviceAccountToken, downwardAPI} of projected.sources ?? []) {
    if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= tokenExpirationSeconds;
    for (const item of downwardAPI?.items ?? []) defaultReference(item);
  }
};

const defaultVolume = (volume: Volume): void => {
  if (hasNoSource(volume)) volume.emptyDir = {};
  defaultVolumeSource(volume);
  const {secret, configMap, downwardAPI, projected, image, ephemeral} = volume;
  for (const source of [secret, configMap, downwardAPI]) if (source) source.defaultMode ??= defaultFileMode;
  for (const item of downwardAPI?.items ?? []) defaultReference(item);
  if (projected) defaultProjected(projected);
  if (image) image.pullPolicy ||= pullPolicyOf(image.reference ?? '');
  const claim = ephemeral?.volumeClaimTemplate?.spec;
  if (!claim) return;
  claim.volumeMode ??= 'Filesystem';
  roundResourceLists(claim.resources?.limits, claim.resources?.requests);
};

/**
 * Copies serviceAccountName to its deprecated alias serviceAccount, or the reverse; the newer field takes precedence.
 */
const syncServiceAccountFields = (spec: PodSpec): void => {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (name) Object.assign(spec, {serviceAccountName: name, serviceAccount: name});
  else {
    delete spec.serviceAccountName;
    delete spec.serviceAccount;
  }
};

/** Applies the defaults of a pod spec, for pods and pod templates. */
export const defaultPodSpec = (spec: PodSpec): void => {
  spec.containers ??= [];
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= 'default-scheduler';
  syncServiceAccountFields(spec);
  roundResourceLists(spec.overhead);
  roundResourceLists(spec.resources?.limits, spec.resources?.requests);
  for (const container of containersOf(spec)) defaultContainer(container);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
};

/** Applies the defaults of a pod template. */
export const defaultPodTemplate = (template: PodTemplateSpec | undefined): void => {
  if (template?.spec) defaultPodSpec(template.spec);
};
