import {invalidObject} from '#src/api/field-error.js';
import {sameJson} from '#src/api/equal.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod, PodSpec, PodTemplateSpec} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import {internalError} from '#src/api/status.js';
import type {KubeObject, Namespace} from '#src/api/types.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {isForKind} from '#src/apiserver/admission/request-kind.js';
import type {FindNamespace} from '#src/apiserver/admission/namespace-lifecycle.js';
import {findings, inFull} from './evaluate.js';
import {exemptionOf, exemptNamespaceWarning} from './exemption.js';
import {existingPodWarnings} from './namespace-check.js';
import {isStricter, policyIn, shownLevel, type Policy} from './policy.js';
import {openSettings, type PodSecuritySettings} from './settings.js';
import type {CheckedPod} from './check.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

export interface PodSecurityParts {
  readonly naming: Naming;
  readonly reader: Reader;
  readonly findNamespace: FindNamespace;
  /** The minor version of `latest`. */
  readonly minor: number;
  readonly podSecurity?: PodSecuritySettings | undefined;
}

type Templated = KubeObject & {
  readonly spec?: {readonly template?: PodTemplateSpec; readonly jobTemplate?: {readonly spec?: {readonly template?: PodTemplateSpec}}};
  readonly template?: PodTemplateSpec;
};

const templateIn = ({spec}: Templated): PodTemplateSpec | undefined => spec?.template;

/** The kinds with a pod template, and its path. */
const makers: readonly (readonly [kind: Kind, template: (object: Templated) => PodTemplateSpec | undefined])[] = [
  [kinds.replicationControllers, templateIn],
  [kinds.podTemplates, ({template}) => template],
  [kinds.replicaSets, templateIn],
  [kinds.deployments, templateIn],
  [kinds.statefulSets, templateIn],
  [kinds.daemonSets, templateIn],
  [kinds.jobs, templateIn],
  [kinds.cronJobs, ({spec}) => spec?.jobTemplate?.spec?.template],
];

/** Subresources of pods that change nothing relevant. */
const harmless: ReadonlySet<string> = new Set(['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status']);

const imagesDiffer = (now: readonly AnyContainer[] = [], before: readonly AnyContainer[] = []): boolean =>
  now.length !== before.length || now.some(({image}, at) => image !== before[at]!.image);

/** Only changes of images and added containers matter on updates of pods. */
const isSignificant = (now: Readonly<PodSpec>, before: Readonly<PodSpec>): boolean =>
  imagesDiffer(now.containers, before.containers) ||
  imagesDiffer(now.initContainers, before.initContainers) ||
  (now.ephemeralContainers ?? []).some(({name, image}) => before.ephemeralContainers?.find(other => other.name === name)?.image !== image);

/** Enforces the pod security standards by the labels of namespaces: refuses, audits, or warns about pods that violate the level. */
export const podSecurity = ({
  naming,
  reader,
  findNamespace,
  minor,
  podSecurity: settings = openSettings,
}: PodSecurityParts): AdmissionPlugin => {
  const checkedPod = ({
    metadata,
    spec,
  }: {
    readonly metadata?: {readonly annotations?: Record<string, string>};
    readonly spec?: PodSpec;
  }): CheckedPod => ({
    annotations: metadata?.annotations ?? {},
    spec: spec ?? {containers: []},
    naming,
  });

  const annotatorFor =
    ({annotate}: AdmissionAttributes) =>
    (key: string, text: string): void =>
      annotate?.(naming.subKey('pod-security', key), text);

  /** Whether the object is exempt, which is audited with the reason. */
  const isExempt = (attributes: AdmissionAttributes, runtimeClass?: string): boolean => {
    const why = exemptionOf(settings, {namespace: attributes.namespace, username: attributes.user.name, runtimeClass});
    if (why) annotatorFor(attributes)('exempt', why);
    return why !== undefined;
  };

  const evaluate = (attributes: AdmissionAttributes, {enforce, audit, warn}: Policy, pod: CheckedPod, isPod: boolean): void => {
    if (isExempt(attributes, pod.spec.runtimeClassName)) return;
    const {warn: warnClient} = attributes;
    const note = annotatorFor(attributes);
    if (isPod) note('enforce-policy', shownLevel(enforce));
    const audited = findings(audit, pod, minor);
    if (audited.length > 0) note('audit-violations', `would violate PodSecurity ${JSON.stringify(shownLevel(audit))}: ${inFull(audited)}`);
    const refused = isPod ? findings(enforce, pod, minor) : [];
    if (refused.length > 0) throw refuse(attributes, `violates PodSecurity ${JSON.stringify(shownLevel(enforce))}: ${inFull(refused)}`);
    const warned = findings(warn, pod, minor);
    if (warned.length > 0) warnClient(`would violate PodSecurity ${JSON.stringify(shownLevel(warn))}: ${inFull(warned)}`);
  };

  const policyOf = async (namespace: string): Promise<Policy | undefined> => {
    const found = await findNamespace(namespace);
    return found && policyIn(found.metadata?.labels ?? {}, naming, settings.defaults).policy;
  };

  const checkPod = async (attributes: AdmissionAttributes): Promise<void> => {
    const {operation, object, oldObject, namespace, subresource} = attributes;
    if (harmless.has(subresource) || isExempt(attributes)) return;
    const policy = await policyOf(namespace);
    if (!policy) throw internalError(`failed to lookup namespace ${JSON.stringify(namespace)}`);
    const pod = object as Pod;
    if (operation === 'UPDATE' && !isSignificant(pod.spec!, (oldObject as Pod).spec!)) return;
    evaluate(attributes, policy, checkedPod(pod), true);
  };

  const checkMaker = async (attributes: AdmissionAttributes, template: PodTemplateSpec | undefined): Promise<void> => {
    const policy = template && (await policyOf(attributes.namespace));
    if (policy) evaluate(attributes, policy, checkedPod(template), false);
  };

  const checkNamespace = async (attributes: AdmissionAttributes): Promise<void> => {
    const {operation, object, oldObject, name, warn} = attributes;
    const labels = (object as Namespace).metadata?.labels ?? {};
    const now = policyIn(labels, naming, settings.defaults);
    const before =
      operation === 'UPDATE' ? policyIn((oldObject as Namespace).metadata?.labels ?? {}, naming, settings.defaults) : undefined;
    if (now.errors.length > 0 && !(before && sameJson(now.errors, before.errors)))
      throw invalidObject({group: '', kind: 'Namespace'}, name, now.errors);
    const [wanted, old] = [now.policy.enforce, before?.policy.enforce];
    if (old && (wanted.level === 'privileged' || (wanted.minor === old.minor && !isStricter(wanted.level, old.level)))) return;
    if (settings.exempt.namespaces.has(name)) {
      const text = exemptNamespaceWarning(name, labels, now.policy, settings, naming);
      if (text) warn(text);
      return;
    }
    if (!old) return;
    const pods = (await reader.list(kinds.pods, name)).filter(
      ({spec}) => !settings.exempt.runtimeClasses.has(spec?.runtimeClassName ?? ''),
    );
    for (const text of existingPodWarnings(name, pods, wanted, checkedPod, minor)) warn(text);
  };

  return {
    name: 'PodSecurity',
    async validate(attributes) {
      const {operation, resource, group, object} = attributes;
      if (operation !== 'CREATE' && operation !== 'UPDATE') return;
      if (group === '' && resource === 'pods') return checkPod(attributes);
      if (isForKind(attributes, naming, kinds.namespaces)) return checkNamespace(attributes);
      const [, template] = makers.find(([kind]) => isForKind(attributes, naming, kind)) ?? [];
      if (template) await checkMaker(attributes, template(object as Templated));
    },
  };
};
