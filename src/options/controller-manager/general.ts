import {naming} from '#src/api/naming.js';
import {controllerNames, validateSelection} from '#src/options/controller-names.js';
import {flagSection} from '#src/options/flag.js';
import {validateLeaseTimes} from '#src/options/rules.js';
import {serverConnection} from '#src/options/shared/kubeconfig.js';
import {featureGates, help, logging, metrics, verbosity} from '#src/options/shared/logging.js';
import {clientNaming} from '#src/options/shared/naming.js';

const plat = naming('plat');
const all = controllerNames.map(({name}) => name).join(', ');
const off = controllerNames
  .filter(controller => controller.offByDefault)
  .map(({name}) => name)
  .join(', ');

/** Flags that select the controllers and the API server. */
export const general = flagSection('Controller selection and misc', {
  controllers: {
    type: 'strings',
    help: `Controllers to run: "*" stands for all that are on by default, "name" turns one on, "-name" turns one off. All controllers: ${all}. Off by default: ${off}.`,
    default: '*',
    check: validateSelection,
  },
  'controller-shutdown-timeout': {
    type: 'duration',
    help: 'How long to wait for controllers to stop before exiting. 0 waits without limit.',
    default: '10s',
    range: {min: '0'},
  },
  'controller-start-interval': {type: 'duration', help: 'The time between starts of controllers.', range: {min: '0'}},
  'enable-dynamic-provisioning': {
    type: 'bool',
    help: 'Enable dynamic provisioning of persistent volumes for storage classes that support it.',
    default: 'true',
  },
  'enable-garbage-collector': {
    type: 'bool',
    help: "Run the generic garbage collector. Must be the same as the API server's flag of this name.",
    default: 'true',
  },
  'enable-hostpath-provisioner': {
    type: 'bool',
    help: 'Provision hostPath volumes when no cloud provider is configured. For testing on a single node only.',
  },
  'enable-leader-migration': {type: 'bool', help: 'Let controllers move between managers under a second lock.'},
  'leader-migration-config': {
    type: 'path',
    help: 'The file that configures leader migration; empty takes the default configuration.',
    requires: ['enable-leader-migration'],
  },
  'flex-volume-plugin-dir': {
    type: 'path',
    help: 'The directory searched for volume plugins of third parties.',
    default: '/usr/libexec/plat/platlet-plugins/volume/exec/',
  },
  'disable-attach-detach-reconcile-sync': {
    type: 'bool',
    help: 'Disable the periodic sync of attached volumes. Volumes and pods may then become inconsistent.',
  },
  'disable-force-detach-on-timeout': {
    type: 'bool',
    help: 'Do not detach a volume by force when unmounting takes too long. Recovery then needs the non-graceful node shutdown feature.',
  },
  ...serverConnection,
  'terminated-pod-gc-threshold': {
    type: 'int32',
    help: 'Number of terminated pods that may exist before the pod garbage collector deletes some. 0 or less disables it.',
    default: '12500',
  },
  ...featureGates,
  ...clientNaming,
  ...help,
  ...verbosity,
  ...logging,
  ...metrics,
});

const seconds = {type: 'int32', range: {min: 0}} as const;
const batchPeriod = {type: 'duration', range: {min: '0'}} as const;

/** Flags of batching, leader election and volumes. */
export const batching = flagSection('Batching, leader election, volumes', {
  'endpoint-updates-batch-period': {
    ...batchPeriod,
    help: 'How long pod changes are batched before endpoints are updated. A larger value delays updates and creates fewer revisions.',
  },
  'endpointslice-updates-batch-period': {...batchPeriod, help: 'How long pod changes are batched before endpoint slices are updated.'},
  'mirroring-endpointslice-updates-batch-period': {
    ...batchPeriod,
    help: 'How long endpoints changes are batched before mirrored endpoint slices are updated.',
  },
  'max-endpoints-per-slice': {
    type: 'int32',
    help: 'Maximum number of endpoints in an endpoint slice. From 1 to 1000.',
    default: '100',
    range: {min: 1, max: 1000},
  },
  'mirroring-max-endpoints-per-subset': {
    type: 'int32',
    help: 'Maximum number of endpoints in a mirrored endpoint slice. From 1 to 1000.',
    default: '1000',
    range: {min: 1, max: 1000},
  },
  'leader-elect': {
    type: 'bool',
    help: 'Acquire the leader election lease before running controllers. Use it with several replicas of the manager.',
    default: 'true',
  },
  'leader-elect-lease-duration': {
    type: 'duration',
    help: 'How long candidates wait after the last observed renewal before they try to acquire the lease.',
    default: '15s',
  },
  'leader-elect-renew-deadline': {
    type: 'duration',
    help: 'How long the leader retries to renew the lease before it stops leading. Must be less than the lease duration.',
    default: '10s',
  },
  'leader-elect-retry-period': {type: 'duration', help: 'Time between attempts to acquire or renew the lease.', default: '2s'},
  'leader-elect-resource-lock': {
    type: 'string',
    help: 'The type of the lock object. Only "leases" is supported.',
    default: 'leases',
    oneOf: ['leases'],
  },
  'leader-elect-resource-name': {type: 'string', help: 'The name of the lock object.', default: 'plat-controller-manager'},
  'leader-elect-resource-namespace': {type: 'string', help: 'The namespace of the lock object.', default: plat.systemNamespace},
  'pv-recycler-increment-timeout-nfs': {
    ...seconds,
    help: 'Seconds added for each Gi to the time an NFS scrubber pod may take.',
    default: '30',
  },
  'pv-recycler-minimum-timeout-hostpath': {
    ...seconds,
    help: 'Minimum timeout, in seconds, of a host-path recycler pod. For tests only.',
    default: '60',
  },
  'pv-recycler-minimum-timeout-nfs': {...seconds, help: 'Minimum timeout, in seconds, of an NFS recycler pod.', default: '300'},
  'pv-recycler-pod-template-filepath-hostpath': {
    type: 'path',
    help: 'The pod template for recycling host-path volumes. For tests only.',
  },
  'pv-recycler-pod-template-filepath-nfs': {type: 'path', help: 'The pod template for recycling NFS volumes.'},
  'pv-recycler-timeout-increment-hostpath': {
    ...seconds,
    help: 'Seconds added for each Gi to the time a host-path scrubber pod may take. For tests only.',
    default: '30',
  },
  'attach-detach-reconcile-sync-period': {
    type: 'duration',
    help: 'The time between syncs of attached volumes. Must exceed one second.',
    default: '1m0s',
  },
});

/** The options of leader election. */
export interface LeaderElectionOptions {
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
}

/** leaseDurationSeconds has 32 bits. */
const maxLeaseSeconds = 2 ** 31 - 1;

/** Validates name, namespace and times of the lock if leader election is enabled. */
export const validateLeaderElection = (options: LeaderElectionOptions): string | undefined => {
  if (!options.leaderElect) return undefined;
  const times = {
    'lease-duration': options.leaderElectLeaseDuration,
    'renew-deadline': options.leaderElectRenewDeadline,
    'retry-period': options.leaderElectRetryPeriod,
  };
  for (const [name, ms] of Object.entries(times)) if (ms <= 0) return `--leader-elect-${name} must be greater than 0`;
  if (options.leaderElectLeaseDuration < 1000) return '--leader-elect-lease-duration must be at least one second';
  if (options.leaderElectLeaseDuration > maxLeaseSeconds * 1000) return `--leader-elect-lease-duration must be at most ${maxLeaseSeconds}s`;
  if (!options.leaderElectResourceName) return '--leader-elect-resource-name must not be empty';
  if (!options.leaderElectResourceNamespace) return '--leader-elect-resource-namespace must not be empty';
  return validateLeaseTimes('leader-elect', {
    leaseDuration: options.leaderElectLeaseDuration,
    renewDeadline: options.leaderElectRenewDeadline,
    retryPeriod: options.leaderElectRetryPeriod,
  });
};
