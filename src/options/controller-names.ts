import type {GateName} from './gate-table.js';

/** A controller as `--controllers` selects it. */
export interface ControllerName {
  /** The canonical name. It is part of the command line and never changes. */
  readonly name: string;
  /** Deprecated names that are still accepted. */
  readonly aliases?: readonly string[];
  /** Whether `*` does not include it. */
  readonly offByDefault?: true;
  /** Feature gates that must all be enabled. */
  readonly gates?: readonly GateName[];
  /** Whether it needs a cloud provider in this process. */
  readonly cloud?: true;
}

/** All controllers in documentation order, implemented or not. */
export const controllerNames: readonly ControllerName[] = [
  {name: 'bootstrap-signer-controller', aliases: ['bootstrapsigner'], offByDefault: true},
  {name: 'certificatesigningrequest-approving-controller', aliases: ['csrapproving']},
  {name: 'certificatesigningrequest-cleaner-controller', aliases: ['csrcleaner']},
  {name: 'certificatesigningrequest-signing-controller', aliases: ['csrsigning']},
  {name: 'cloud-node-lifecycle-controller', aliases: ['cloud-node-lifecycle'], cloud: true},
  {name: 'clusterrole-aggregation-controller', aliases: ['clusterrole-aggregation']},
  {name: 'cronjob-controller', aliases: ['cronjob']},
  {name: 'daemonset-controller', aliases: ['daemonset']},
  {name: 'deployment-controller', aliases: ['deployment']},
  {name: 'device-taint-eviction-controller', gates: ['DRADeviceTaints']},
  {name: 'disruption-controller', aliases: ['disruption']},
  {name: 'endpoints-controller', aliases: ['endpoint']},
  {name: 'endpointslice-controller', aliases: ['endpointslice']},
  {name: 'endpointslice-mirroring-controller', aliases: ['endpointslicemirroring']},
  {name: 'ephemeral-volume-controller', aliases: ['ephemeral-volume']},
  {name: 'garbage-collector-controller', aliases: ['garbagecollector']},
  {name: 'horizontal-pod-autoscaler-controller', aliases: ['horizontalpodautoscaling']},
  {name: 'job-controller', aliases: ['job']},
  {name: 'plat-apiserver-serving-clustertrustbundle-publisher-controller', gates: ['ClusterTrustBundle']},
  {name: 'legacy-serviceaccount-token-cleaner-controller', aliases: ['legacy-service-account-token-cleaner']},
  {name: 'namespace-controller', aliases: ['namespace']},
  {name: 'node-ipam-controller', aliases: ['nodeipam']},
  {name: 'node-lifecycle-controller', aliases: ['nodelifecycle']},
  {name: 'node-route-controller', aliases: ['route'], cloud: true},
  {name: 'node-serving-approving-controller', offByDefault: true},
  {name: 'persistentvolume-attach-detach-controller', aliases: ['attachdetach']},
  {name: 'persistentvolume-binder-controller', aliases: ['persistentvolume-binder']},
  {name: 'persistentvolume-expander-controller', aliases: ['persistentvolume-expander']},
  {name: 'persistentvolume-protection-controller', aliases: ['pv-protection']},
  {name: 'persistentvolumeclaim-protection-controller', aliases: ['pvc-protection']},
  {name: 'pod-garbage-collector-controller', aliases: ['podgc']},
  {name: 'podcertificaterequest-cleaner-controller', gates: ['PodCertificateRequest']},
  {name: 'replicaset-controller', aliases: ['replicaset']},
  {name: 'replicationcontroller-controller', aliases: ['replicationcontroller']},
  {name: 'resourceclaim-controller', aliases: ['resource-claim-controller']},
  {name: 'resourcequota-controller', aliases: ['resourcequota']},
  {name: 'root-ca-certificate-publisher-controller', aliases: ['root-ca-cert-publisher']},
  {name: 'selinux-warning-controller', offByDefault: true, gates: ['SELinuxChangePolicy']},
  {name: 'service-cidr-controller'},
  {name: 'service-lb-controller', aliases: ['service'], cloud: true},
  {name: 'serviceaccount-controller', aliases: ['serviceaccount']},
  {name: 'serviceaccount-token-controller', aliases: ['serviceaccount-token']},
  {name: 'statefulset-controller', aliases: ['statefulset']},
  {name: 'storage-version-migrator-controller', gates: ['StorageVersionMigrator']},
  {name: 'storageversion-garbage-collector-controller', aliases: ['storage-version-gc'], gates: ['APIServerIdentity', 'StorageVersionAPI']},
  {name: 'taint-eviction-controller'},
  {name: 'token-cleaner-controller', aliases: ['tokencleaner'], offByDefault: true},
  {name: 'ttl-after-finished-controller', aliases: ['ttl-after-finished']},
  {name: 'ttl-controller', aliases: ['ttl']},
  {name: 'validatingadmissionpolicy-status-controller'},
  {name: 'volumeattributesclass-protection-controller'},
];

const canonicalNames: ReadonlyMap<string, string> = new Map(
  controllerNames.flatMap(({name, aliases = []}) => [name, ...aliases].map((alias): [string, string] => [alias, name])),
);

const offByDefault: ReadonlySet<string> = new Set(controllerNames.filter(controller => controller.offByDefault).map(({name}) => name));

/** Returns the canonical name for a name or alias; undefined for an unknown one. */
export const canonicalController = (name: string): string | undefined => canonicalNames.get(name);

const withoutDash = (item: string): string => (item.startsWith('-') ? item.slice(1) : item);

/**
 * Returns an error for the first item of a `--controllers` list that is neither `*` nor a known name, with or without a
 * dash.
 */
export const validateSelection = (items: readonly string[]): string | undefined => {
  const unknown = items.map(withoutDash).find(item => item !== '*' && !canonicalNames.has(item));
  return unknown === undefined ? undefined : `"${unknown}" is not in the list of known controllers`;
};

/** Returns the list with aliases replaced by canonical names. */
const canonicalSelection = (items: readonly string[]): readonly string[] =>
  items.map(item => (item.startsWith('-') ? '-' : '') + (canonicalNames.get(withoutDash(item)) ?? withoutDash(item)));

/**
 * Whether a `--controllers` list enables the controller of this canonical name. The first item that names it decides,
 * by `name` or `-name`; otherwise `*` enables the controllers that are on by default.
 */
export const isControllerEnabled = (name: string, items: readonly string[]): boolean => {
  for (const item of canonicalSelection(items)) {
    if (item === name) return true;
    if (item === `-${name}`) return false;
  }
  return items.includes('*') && !offByDefault.has(name);
};

/** Whether a list names the controller explicitly, not only by `*`. */
export const isControllerNamed = (name: string, items: readonly string[]): boolean => canonicalSelection(items).includes(name);
