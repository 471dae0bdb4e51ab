import {isWrong} from '#src/api/collect-errors.js';
import type {ObjectMeta} from '#src/api/types.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import type {HookContext} from '#src/resources/definition.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {everyContainer, type PlacedContainer} from './every-container.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {isHugePages} from '#src/model/resource-names.js';
import {isWholePages, quantityIn} from '#src/resources/validation/resource-names.js';
import {validateUnreservedPath} from '#src/resources/validation/paths.js';
import {podTerms, validateTermSelectors} from './affinity.js';
import {hasDeletionCost} from './annotations.js';
import type {Allowances} from './rules.js';
import {sysctlOfHost} from './security.js';
import {mergesSpreadKeys, validateSpreadKeys} from './spreading.js';

// Ratcheting of pod validation: what an update may keep because the stored object has it, or because a gate allows it.

const hasPartialPages = (list: Readonly<Record<string, string>> | undefined): boolean =>
  Object.entries(list ?? {}).some(([name, text]) => isHugePages(name) && !isWholePages(name, quantityIn(text)));

const tokenPaths = (spec: PodSpec): readonly string[] =>
  (spec.volumes ?? []).flatMap(({projected}) =>
    (projected?.sources ?? []).flatMap(({serviceAccountToken}) => serviceAccountToken?.path ?? []),
  );

const restartsAll = ({restartPolicyRules = []}: AnyContainer): boolean =>
  restartPolicyRules.some(({action}) => action === 'RestartAllContainers');

/** Reports whether a container has a restart policy or rules that need the gate. */
export const hasRestartRules = ({container, sort}: PlacedContainer): boolean =>
  sort === 'init'
    ? (container.restartPolicy !== undefined && !isSidecar(container)) || Boolean(container.restartPolicyRules?.length)
    : sort === 'regular' && container.restartPolicy !== undefined;

type Gate = Pick<HookContext, 'gate'>;

/** Returns what is allowed by a gate, or because the stored spec uses it. */
const gated = (spec: PodSpec, {gate}: Gate) => {
  const all = everyContainer(spec);
  const hasUserNamespace = spec.hostUsers === false;
  return {
    userNamespaceDevices: hasUserNamespace && all.some(({container}) => container.volumeDevices?.length),
    comparingTolerations:
      gate('TaintTolerationComparisonOperators') || (spec.tolerations ?? []).some(({operator}) => operator === 'Lt' || operator === 'Gt'),
    userNamespaceHostNetwork: gate('UserNamespacesHostNetworkSupport') || (hasUserNamespace && spec.hostNetwork === true),
    envFiles: gate('EnvFiles') || all.some(({container}) => container.env?.some(({valueFrom}) => valueFrom?.fileKeyRef)),
    anyLabelChange: gate('SELinuxMount') || spec.securityContext?.seLinuxChangePolicy !== undefined,
    restartRules: gate('ContainerRestartRules') || all.some(hasRestartRules),
    restartAll:
      gate('RestartAllContainersOnContainerExits') ||
      all.some(
        ({container, sort}) =>
          sort !== 'ephemeral' &&
          (restartsAll(container) || (sort === 'init' && isSidecar(container) && container.restartPolicyRules?.length)),
      ),
  };
};

/** Reports whether selectors of pod affinity have invalid label values. */
export const hasInvalidTermValues = (spec: Readonly<PodSpec> | undefined): boolean =>
  [...podTerms(spec?.affinity, '')].some(({term}) => isWrong(validateTermSelectors(term, '', false)));

/** Returns what an update may keep from the stored object; without one, what a new object may have. */
export const allowancesOf = (
  stored: PodSpec | undefined,
  meta: ObjectMeta | undefined,
  {naming, gate}: Pick<HookContext, 'naming' | 'gate'>,
): Allowances => {
  const spec: PodSpec = stored ?? {containers: []};
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const spreads = spec.topologySpreadConstraints ?? [];
  return {
    deletionCost: !gate('PodDeletionCost') || !hasDeletionCost(meta?.annotations, naming),
    selectorValues: hasInvalidTermValues(spec),
    nodeSelectorValues: terms !== undefined && isWrong(validateNodeSelector(terms, '', false)),
    spreadSelectors: spreads.some(({labelSelector}) => labelSelector && isWrong(validateLabelSelector(labelSelector, ''))),
    spreadKeys:
      gate('MatchLabelKeysInPodTopologySpread') && spreads.some(spread => isWrong(validateSpreadKeys(spread, '', mergesSpreadKeys(gate)))),
    partialHugePages:
      hasPartialPages(spec.overhead) ||
      everyContainer(spec).some(({container: {resources}}) => hasPartialPages(resources?.limits) || hasPartialPages(resources?.requests)),
    tokenPaths: tokenPaths(spec).some(path => isWrong(validateUnreservedPath('', path))),
    hostSysctls: (spec.securityContext?.sysctls ?? []).some(({name}) => sysctlOfHost(spec, name) !== undefined),
    ...gated(spec, {gate}),
  };
};
