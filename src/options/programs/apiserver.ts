import {dirname, join} from 'node:path';
import {naming} from '#src/api/naming.js';
import type {NamingName} from '#src/api/naming.js';
import {admission, validateAdmissionPlugins} from '#src/options/apiserver/admission.js';
import {aggregation, validateCoordination, validatePeers} from '#src/options/apiserver/aggregation.js';
import {audit, auditVersions, validateAudit} from '#src/options/apiserver/audit.js';
import {authentication, authorization, validateAuthorizationModes, serviceAccountTokens} from '#src/options/apiserver/authentication.js';
import {cluster, validateServiceRanges} from '#src/options/apiserver/cluster.js';
import {limits, serving} from '#src/options/apiserver/serving.js';
import {validateStorageBackend, validateCachedResources, storage} from '#src/options/apiserver/storage.js';
import {flagSection, flagTable} from '#src/options/flag.js';
import type {OptionsOf} from '#src/options/flag.js';
import {emulation, featureGates, help, logging, metrics, verbosity} from '#src/options/shared/logging.js';
import {recordFlags, validateRecording} from '#src/options/shared/record.js';
import {serverNaming} from '#src/options/shared/naming.js';

const validateSwitches = (switches: ReadonlyMap<string, string>): string | undefined => {
  const invalid = [...switches].find(([, value]) => !/^(?:|1|t|true|0|f|false)$/i.test(value));
  return invalid && `"${invalid.join('=')}" must be true or false`;
};

const misc = flagSection('Logging, metrics, misc', {
  ...verbosity,
  ...logging,
  ...metrics,
  'runtime-config': {
    type: 'switches',
    help: 'Built-in APIs to turn on or off, as <group>/<version>[/<resource>]=true|false pairs; api/all, api/ga, api/beta and api/alpha select groups of APIs.',
    check: validateSwitches,
  },
  ...featureGates,
  ...recordFlags,
  ...serverNaming,
  ...help,
});

/** The flow control API cannot be disabled while priority and fairness is enabled. */
const validateFlowControl = (options: {
  readonly naming: NamingName;
  readonly enablePriorityAndFairness: boolean;
  readonly runtimeConfig: ReadonlyMap<string, string>;
}): string | undefined => {
  if (!options.enablePriorityAndFairness) return undefined;
  const keys = [naming(options.naming).apiVersion('flowcontrol.apiserver', 'v1'), 'api/ga', 'api/all'];
  const key = keys.find(key => options.runtimeConfig.get(key));
  return key && /^(?:0|f)/i.test(options.runtimeConfig.get(key)!)
    ? `--runtime-config=${key}=false conflicts with --enable-priority-and-fairness=true`
    : undefined;
};

const versioning = flagSection('Versioning', {
  ...emulation,
  'emulation-forward-compatible': {
    type: 'bool',
    help: "Also serve later, more stable versions of APIs that are beta or better at the emulated version. Only when that is lower than the program's own.",
  },
  'runtime-config-emulation-forward-compatible': {
    type: 'bool',
    help: "Serve APIs named by --runtime-config even if they are younger than the emulated version; otherwise such an API stops the start. Only when that version is lower than the program's own.",
  },
});

const validateForwardCompatibility = (
  options: {readonly emulationForwardCompatible: boolean; readonly runtimeConfigEmulationForwardCompatible: boolean},
  {versions}: {readonly versions: {readonly emulated: string; readonly binary: string}},
): string | undefined => {
  if (versions.emulated !== versions.binary) return undefined;
  if (options.emulationForwardCompatible)
    return "--emulation-forward-compatible requires an --emulated-version lower than the program's own";
  if (options.runtimeConfigEmulationForwardCompatible)
    return "--runtime-config-emulation-forward-compatible requires an --emulated-version lower than the program's own";
  return undefined;
};

/** The flags of `plat-apiserver`. */
export const apiserverFlags = flagTable({
  program: 'plat-apiserver',
  summary: 'Serves the API and stores its objects. All other components communicate through it.',
  sections: [
    serving,
    admission,
    storage,
    cluster,
    aggregation,
    misc,
    authentication,
    serviceAccountTokens,
    authorization,
    audit,
    limits,
    versioning,
  ],
  rules: [
    validateAdmissionPlugins,
    validateStorageBackend,
    validateCachedResources,
    validateServiceRanges,
    validateCoordination,
    validatePeers,
    validateAuthorizationModes,
    validateAudit,
    validateForwardCompatibility,
    validateFlowControl,
    validateRecording,
    options =>
      options.enablePriorityAndFairness && options.maxRequestsInflight + options.maxMutatingRequestsInflight <= 0
        ? '--max-requests-inflight and --max-mutating-requests-inflight must have a positive sum with priority and fairness on'
        : undefined,
  ],
  derive: (options, given) => ({
    ...auditVersions(options),
    ...(given.has('kvstore-servers') && {storageBackend: 'etcd3' as const}),
    ...(given.has('authorization-config') && {authorizationMode: []}),
    ...(options.dataDir === '' && {dataDir: join(dirname(options.certDir), 'store')}),
  }),
});

export type ApiserverOptions = OptionsOf<typeof apiserverFlags>;
