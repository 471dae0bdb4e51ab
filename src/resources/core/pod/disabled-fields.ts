import type {PodSpec, PodStatus, PodTemplateSpec} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {everyContainer} from './validation/every-container.js';
import {hasRestartRules} from './validation/allowances.js';

// Fields of pods that depend on feature gates. While a gate is off its fields are dropped on write, unless the stored
// object uses them: turning a gate off never breaks a running pod.

/** Fields of a spec that depend on a gate: whether they are in use, and how to drop them. */
interface GatedFields {
  readonly gate: string;
  inUse(spec: Readonly<PodSpec>): boolean;
  drop(spec: PodSpec): void;
}

const containersOf = (spec: Readonly<PodSpec>) => everyContainer(spec);
const projections = (spec: Readonly<PodSpec>) => (spec.volumes ?? []).flatMap(({projected}) => projected?.sources ?? []);
const spreads = (spec: Readonly<PodSpec>) => spec.topologySpreadConstraints ?? [];

const ofSpec = (gate: string, field: keyof PodSpec): GatedFields => ({
  gate,
  inUse: spec => spec[field] !== undefined,
  drop: spec => void delete spec[field],
});

const gated: readonly GatedFields[] = [
  ofSpec('HostnameOverride', 'hostnameOverride'),
  {
    gate: 'PodLevelResources',
    inUse: ({resources}) => Object.keys({...resources?.requests, ...resources?.limits}).length > 0,
    drop: spec => void delete spec.resources,
  },
  ofSpec('UserNamespacesSupport', 'hostUsers'),
  ofSpec('GenericWorkload', 'workloadRef'),
  {
    gate: 'ContainerRestartRules',
    inUse: spec => containersOf(spec).some(hasRestartRules),
    drop(spec) {
      for (const {container, sort} of everyContainer(spec)) {
        delete container.restartPolicyRules;
        if (sort !== 'init' || !isSidecar(container)) delete container.restartPolicy;
      }
    },
  },
  {
    gate: 'EnvFiles',
    inUse: spec => containersOf(spec).some(({container}) => container.env?.some(({valueFrom}) => valueFrom?.fileKeyRef)),
    drop(spec) {
      for (const {container} of everyContainer(spec)) for (const {valueFrom} of container.env ?? []) delete valueFrom?.fileKeyRef;
    },
  },
  {
    gate: 'ImageVolume',
    inUse: spec => (spec.volumes ?? []).some(({image}) => image),
    drop(spec) {
      const names = new Set((spec.volumes ?? []).flatMap(({name, image}) => (image ? [name] : [])));
      if (names.size === 0) return;
      spec.volumes = spec.volumes!.filter(({image}) => !image);
      for (const {container} of everyContainer(spec))
        if (container.volumeMounts) container.volumeMounts = container.volumeMounts.filter(({name}) => !names.has(name));
    },
  },
  {
    gate: 'ClusterTrustBundleProjection',
    inUse: spec => projections(spec).some(({clusterTrustBundle}) => clusterTrustBundle),
    drop(spec) {
      for (const source of projections(spec)) delete source.clusterTrustBundle;
    },
  },
  {
    gate: 'PodCertificateRequest',
    inUse: spec => projections(spec).some(({podCertificate}) => podCertificate),
    drop(spec) {
      for (const source of projections(spec)) delete source.podCertificate;
    },
  },
  {
    gate: 'MatchLabelKeysInPodTopologySpread',
    inUse: spec => spreads(spec).some(({matchLabelKeys}) => matchLabelKeys?.length),
    drop(spec) {
      for (const constraint of spreads(spec)) delete constraint.matchLabelKeys;
    },
  },
  {
    gate: 'ContainerStopSignals',
    inUse: spec => containersOf(spec).some(({container}) => container.lifecycle?.stopSignal !== undefined),
    drop(spec) {
      for (const {container} of everyContainer(spec)) {
        if (container.lifecycle?.stopSignal === undefined) continue;
        delete container.lifecycle.stopSignal;
        if (!container.lifecycle.preStop && !container.lifecycle.postStart) delete container.lifecycle;
      }
    },
  },
  {
    gate: 'SELinuxChangePolicy',
    inUse: spec => spec.securityContext?.seLinuxChangePolicy !== undefined,
    drop: spec => void delete spec.securityContext?.seLinuxChangePolicy,
  },
  {
    gate: 'ProcMountType',
    inUse: spec => containersOf(spec).some(({container}) => (container.securityContext?.procMount ?? 'Default') !== 'Default'),
    drop(spec) {
      // Older servers stored the default explicitly, so it is set rather than removed: stored objects stay equal.
      for (const {
        container: {securityContext},
      } of everyContainer(spec))
        if (securityContext?.procMount !== undefined) securityContext.procMount = 'Default';
    },
  },
];

/** Drops the fields of a spec whose gates are off, unless the stored spec uses them. */
export const dropDisabledFields = (
  spec: PodSpec | undefined,
  old: Readonly<PodSpec> | undefined,
  gate: (name: string) => boolean,
): void => {
  if (!spec) return;
  for (const fields of gated) if (!gate(fields.gate) && !(old && fields.inUse(old))) fields.drop(spec);
};

/** Does the same for a pod template. */
export const dropDisabledTemplateFields = (
  template: PodTemplateSpec | undefined,
  old: Readonly<PodTemplateSpec> | undefined,
  gate: (name: string) => boolean,
): void => dropDisabledFields(template?.spec, old?.spec, gate);

type GatedStatus = PodStatus & {resources?: unknown; allocatedResources?: unknown};

/** Drops the fields of a status whose gates are off, unless the stored status has them. */
export const dropDisabledStatusFields = (
  status: PodStatus | undefined,
  old: Readonly<PodStatus> | undefined,
  gate: (name: string) => boolean,
): void => {
  if (!status) return;
  const fields = status as GatedStatus;
  const before = old as GatedStatus | undefined;
  if (!gate('InPlacePodLevelResourcesVerticalScaling') && before?.resources === undefined && before?.allocatedResources === undefined) {
    delete fields.resources;
    delete fields.allocatedResources;
  }
  if (!gate('DRAExtendedResource') && !old?.extendedResourceClaimStatus) delete status.extendedResourceClaimStatus;
  if (gate('ResourceHealthStatus')) return;
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const) {
    for (const container of status[list] ?? []) delete container.allocatedResourcesStatus;
  }
};
