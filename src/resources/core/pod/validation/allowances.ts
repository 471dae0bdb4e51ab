import type {FieldError} from '#src/api/field-error.js';
import type {ObjectMeta} from '#src/api/types.js';
import type {PodSpec} from '#src/api/pod.js';
import type {HookContext} from '#src/resources/definition.js';
import {everyContainer} from '#src/resources/core/pod/containers.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {isHugePages} from '#src/model/resource-names.js';
import {isWholePages, quantityIn} from '#src/resources/validation/resource-names.js';
import {unreservedPath} from '#src/resources/validation/paths.js';
import {podTerms, validateTermSelectors} from './affinity.js';
import {hasDeletionCost} from './annotations.js';
import type {Allowances} from './rules.js';

/** What a new object may hold: nothing that the rules forbid. */
export const noAllowances: Allowances = {
  deletionCost: false,
  selectorValues: false,
  nodeSelectorValues: false,
  spreadSelectors: false,
  partialHugePages: false,
  tokenPaths: false,
  hostSysctls: false,
  tolerationOperators: false,
};

const bad = (errors: Iterable<FieldError>): boolean => !errors[Symbol.iterator]().next().done;

const hasPartialPages = (list: Readonly<Record<string, string>> | undefined): boolean =>
  Object.entries(list ?? {}).some(([name, text]) => isHugePages(name) && !isWholePages(name, quantityIn(text)));

const tokenPaths = (spec: PodSpec): readonly string[] =>
  (spec.volumes ?? []).flatMap(({projected}) => (projected?.sources ?? []).flatMap(({serviceAccountToken}) => serviceAccountToken?.path ?? []));

/** What an update may hold because the stored object holds it already. */
export const allowancesOf = (spec: PodSpec | undefined, meta: ObjectMeta | undefined, {naming, gate}: Pick<HookContext, 'naming' | 'gate'>): Allowances => {
  const anyCost = !gate('PodDeletionCost');
  if (!spec) return {...noAllowances, deletionCost: anyCost};
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return {
    deletionCost: anyCost || !hasDeletionCost(meta?.annotations, naming),
    selectorValues: [...podTerms(spec.affinity, '')].some(({term}) => bad(validateTermSelectors(term, '', false))),
    nodeSelectorValues: terms !== undefined && bad(validateNodeSelector(terms, '', false)),
    spreadSelectors: (spec.topologySpreadConstraints ?? []).some(({labelSelector}) => labelSelector && bad(validateLabelSelector(labelSelector, ''))),
    partialHugePages: hasPartialPages(spec.overhead) || [...everyContainer(spec)].some(({container: {resources}}) => hasPartialPages(resources?.limits) || hasPartialPages(resources?.requests)),
    tokenPaths: tokenPaths(spec).some(path => bad(unreservedPath('', path))),
    hostSysctls: (spec.securityContext?.sysctls ?? []).length > 0 && Boolean(spec.hostNetwork || spec.hostIPC),
    tolerationOperators: (spec.tolerations ?? []).some(({operator}) => operator === 'Lt' || operator === 'Gt'),
  };
};
