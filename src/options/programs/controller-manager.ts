import {cloud, validateNodeRanges} from '#src/options/controller-manager/cloud.js';
import {batching, general, validateLeaderElection} from '#src/options/controller-manager/general.js';
import {autoscaler, concurrency, rates} from '#src/options/controller-manager/limits.js';
import {servingApproval} from '#src/options/controller-manager/serving-approval.js';
import {serving} from '#src/options/controller-manager/serving.js';
import {certificateSigning, validateSigningPairs} from '#src/options/controller-manager/signing.js';
import {flagSection, flagTable} from '#src/options/flag.js';
import type {OptionsOf} from '#src/options/flag.js';
import {emulation} from '#src/options/shared/logging.js';

const versioning = flagSection('Versioning', emulation);
const second = 1000;

/** The flags of `plat-controller-manager`. */
export const controllerManagerFlags = flagTable({
  program: 'plat-controller-manager',
  summary: 'Runs the controllers: loops that watch the state of the cluster through the API server and move it towards the desired state.',
  sections: [cloud, certificateSigning, servingApproval, general, batching, autoscaler, serving, concurrency, rates, versioning],
  rules: [
    validateSigningPairs,
    validateNodeRanges,
    validateLeaderElection,
    options =>
      options.attachDetachReconcileSyncPeriod <= second && !options.disableAttachDetachReconcileSync
        ? '--attach-detach-reconcile-sync-period must be greater than 1s'
        : undefined,
    options =>
      options.nodeMonitorPeriod >= options.nodeMonitorGracePeriod
        ? '--node-monitor-period must be less than --node-monitor-grace-period'
        : undefined,
  ],
});

export type ControllerManagerOptions = OptionsOf<typeof controllerManagerFlags>;
