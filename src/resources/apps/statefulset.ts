import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {nameKind, pvcDefaults} from './claim-templates.js';
import {scaleEndpoint} from '#src/resources/autoscaling/scale.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type Endpoint} from '#src/resources/definition.js';
import {dropDisabledTemplateFields, podTemplateWarnings} from '#src/resources/core/pod/template.js';
import {claimSpecWarnings} from '#src/resources/validation/claim-spec.js';
import {labelName} from '#src/resources/validation/names.js';
import {containerColumns} from '#src/resources/workload/columns.js';
import {defaultTemplate} from '#src/resources/workload/template.js';
import {validateStatefulSet, validateStatefulSetStatus} from './statefulset-validation.js';

type StatefulSet = ObjectOf<typeof kinds.statefulSets>;
type Spec = NonNullable<StatefulSet['spec']>;

const defaultStrategy = (spec: Spec, gate: (name: string) => boolean): void => {
  const strategy = (spec.updateStrategy ??= {});
  if (!strategy.type) {
    strategy.type = 'RollingUpdate';
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type !== 'RollingUpdate' || !strategy.rollingUpdate) return;
  strategy.rollingUpdate.partition ??= 0;
  if (gate('MaxUnavailableStatefulSet')) strategy.rollingUpdate.maxUnavailable ??= 1;
};

const columns: readonly Column<StatefulSet>[] = [
  nameColumn,
  {
    name: 'Ready',
    description: 'Number of the pod with ready state',
    of: ({spec, status}) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
  },
  ageColumn,
  ...containerColumns<StatefulSet>(({spec}) => spec?.template),
];

const main: Endpoint<StatefulSet> = {
  writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
  prepare(set, old, {gate}) {
    dropDisabledTemplateFields(set.spec?.template, old?.spec?.template, gate);
    if (!old) set.status = {replicas: 0, availableReplicas: 0};
    const rolling = set.spec?.updateStrategy?.rollingUpdate;
    if (rolling && !gate('MaxUnavailableStatefulSet') && old?.spec?.updateStrategy?.rollingUpdate?.maxUnavailable === undefined)
      delete rolling.maxUnavailable;
  },
  validate: validateStatefulSet,
  *warn(set, old, context) {
    if (set.metadata?.generation !== old?.metadata?.generation)
      yield* podTemplateWarnings(set.spec?.template, 'spec.template', context.naming);
    // The paths are the original's.
    const at = (i: number): string => `spec.volumeClaimTemplates[${i}]${old ? '.Spec' : ''}`;
    for (const [i, claim] of (set.spec?.volumeClaimTemplates ?? []).entries()) yield* claimSpecWarnings(claim.spec ?? {}, at(i));
    if ((set.spec?.revisionHistoryLimit ?? 0) < 0)
      yield 'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';
  },
};

/** StatefulSet: keeps pods with stable names, ordinals and storage. */
export const statefulSets = defineResource<StatefulSet>({
  kind: kinds.statefulSets,
  discovery: {shortNames: ['sts'], categories: ['all']},
  storage: {
    alwaysPresent: {spec: {serviceName: ''}, status: {replicas: 0, availableReplicas: 0}},
    restore: ({spec}) => void spec?.volumeClaimTemplates?.forEach(nameKind),
  },
  metadata: {nameProblems: labelName, generation: true},
  default(set, {gate}) {
    const spec = (set.spec ??= {} as Spec);
    spec.podManagementPolicy ||= 'OrderedReady';
    defaultStrategy(spec, gate);
    const retention = (spec.persistentVolumeClaimRetentionPolicy ??= {});
    retention.whenDeleted ||= 'Retain';
    retention.whenScaled ||= 'Retain';
    spec.replicas ??= 1;
    if (spec.ordinals) spec.ordinals.start ??= 0;
    spec.revisionHistoryLimit ??= 10;
    defaultTemplate(spec);
    for (const claim of spec.volumeClaimTemplates ?? []) pvcDefaults(claim);
  },
  main,
  subresources: {
    scale: scaleEndpoint(main),
    status: {writes: {update: ['metadata', 'status']}, validate: validateStatefulSetStatus},
  },
  presentation: {columns},
});
