import {invalidObject} from '#src/api/field-error.js';
import {warned} from '#src/apiserver/admission/recorded-decisions.js';
import {sameJson} from '#src/api/equal.js';
import type {Meter} from '#src/base/meter.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod, PodSpec, PodTemplateSpec} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import {internalError} from '#src/api/status.js';
import type {KubeObject, Namespace} from '#src/api/types.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {isForKind} from '#src/apiserver/admission/request-kind.js';
import type {FindNamespace} from '#src/apiserver/admission/namespace-lifecycle.js';
import {findings, inFull} from './evaluate.js';
import {exemptionOf, exemptNamespaceWarning} from './exemption.js';
import {existingPodWarnings} from './namespace-check.js';
import {PodSecurityMetrics} from './metrics.js';
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
  readonly meter?: Meter;
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

type Checkable = {readonly metadata?: {readonly annotations?: Record<string, string>}; readonly spec?: PodSpec};

/** Checks pods, objects with a pod template, and namespaces against the policies of namespaces. */
class PodSecurityChecks {
  readonly #parts: PodSecurityParts;
  readonly #settings: PodSecuritySettings;
  readonly #metrics: PodSecurityMetrics;

  constructor(parts: PodSecurityParts) {
    this.#parts = parts;
    this.#metrics = new PodSecurityMetrics(parts.meter, parts.minor);
    this.#settings = parts.podSecurity ?? openSettings;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const {naming} = this.#parts;
    const {resource, group, object} = attributes;
    if (group === '' && resource === 'pods') return this.#checkPod(attributes);
    if (isForKind(attributes, naming, kinds.namespaces)) return this.#checkNamespace(attributes);
    const [, template] = makers.find(([kind]) => isForKind(attributes, naming, kind)) ?? [];
    if (template) await this.#checkMaker(attributes, template(object as Templated));
  }

  async #checkPod(attributes: AdmissionAttributes): Promise<void> {
    const {operation, object, oldObject, namespace, subresource} = attributes;
    if (harmless.has(subresource) || this.#isExempt(attributes)) return;
    const policy = await this.#policyOf(namespace);
    if (!policy) throw internalError(`failed to lookup namespace ${JSON.stringify(namespace)}`);
    const pod = object as Pod;
    if (operation === 'UPDATE' && !isSignificant(pod.spec!, (oldObject as Pod).spec!)) return;
    this.#evaluate(attributes, policy, this.#checkedPod(pod), true);
  }

  async #checkMaker(attributes: AdmissionAttributes, template: PodTemplateSpec | undefined): Promise<void> {
    const policy = template && (await this.#policyOf(attributes.namespace));
    if (policy) this.#evaluate(attributes, policy, this.#checkedPod(template), false);
  }

  async #checkNamespace(attributes: AdmissionAttributes): Promise<void> {
    const {naming, reader, minor} = this.#parts;
    const settings = this.#settings;
    const {operation, object, oldObject, name} = attributes;
    const labels = (object as Namespace).metadata?.labels ?? {};
    const now = policyIn(labels, naming, settings.defaults);
    const before =
      operation === 'UPDATE' ? policyIn((oldObject as Namespace).metadata?.labels ?? {}, naming, settings.defaults) : undefined;
    if (now.errors.length > 0 && !(before && sameJson(now.errors, before.errors)))
      throw invalidObject({group: '', kind: 'Namespace'}, name, now.errors);
    const [requested, old] = [now.policy.enforce, before?.policy.enforce];
    if (old && (requested.level === 'privileged' || (requested.minor === old.minor && !isStricter(requested.level, old.level)))) return;
    if (settings.exempt.namespaces.has(name)) {
      const text = exemptNamespaceWarning(name, labels, now.policy, settings, naming);
      if (text) warned(attributes, text);
      return;
    }
    if (!old) return;
    const pods = (await reader.list(kinds.pods, name)).filter(
      ({spec}) => !settings.exempt.runtimeClasses.has(spec?.runtimeClassName ?? ''),
    );
    for (const text of existingPodWarnings(name, pods, requested, pod => this.#checkedPod(pod), minor)) warned(attributes, text);
  }

  #evaluate(attributes: AdmissionAttributes, {enforce, audit, warn}: Policy, pod: CheckedPod, isPod: boolean): void {
    if (this.#isExempt(attributes, pod.spec.runtimeClassName)) return;
    const {minor} = this.#parts;
    if (isPod) this.#annotate(attributes, 'enforce-policy', shownLevel(enforce));
    const audited = findings(audit, pod, minor);
    if (audited.length > 0) {
      this.#metrics.evaluated('deny', audit, 'audit', attributes);
      this.#annotate(attributes, 'audit-violations', `would violate PodSecurity ${JSON.stringify(shownLevel(audit))}: ${inFull(audited)}`);
    }
    const refused = isPod ? findings(enforce, pod, minor) : [];
    if (isPod) this.#metrics.evaluated(refused.length > 0 ? 'deny' : 'allow', enforce, 'enforce', attributes);
    if (refused.length > 0) throw refuse(attributes, `violates PodSecurity ${JSON.stringify(shownLevel(enforce))}: ${inFull(refused)}`);
    const violations = findings(warn, pod, minor);
    if (violations.length === 0) return;
    this.#metrics.evaluated('deny', warn, 'warn', attributes);
    warned(attributes, `would violate PodSecurity ${JSON.stringify(shownLevel(warn))}: ${inFull(violations)}`);
  }

  /** Whether the object is exempt, which is audited with the reason. */
  #isExempt(attributes: AdmissionAttributes, runtimeClass?: string): boolean {
    const why = exemptionOf(this.#settings, {namespace: attributes.namespace, username: attributes.user.name, runtimeClass});
    if (why) {
      this.#metrics.exempt(attributes);
      this.#annotate(attributes, 'exempt', why);
    }
    return why !== undefined;
  }

  #annotate({annotate}: AdmissionAttributes, key: string, text: string): void {
    annotate?.(this.#parts.naming.subKey('pod-security', key), text);
  }

  async #policyOf(namespace: string): Promise<Policy | undefined> {
    const found = await this.#parts.findNamespace(namespace);
    return found && policyIn(found.metadata?.labels ?? {}, this.#parts.naming, this.#settings.defaults).policy;
  }

  #checkedPod({metadata, spec}: Checkable): CheckedPod {
    return {annotations: metadata?.annotations ?? {}, spec: spec ?? {containers: []}, naming: this.#parts.naming};
  }
}

/**
 * Enforces the pod security standards by the labels of namespaces: refuses, audits, or warns about pods that violate
 * the level.
 */
export const podSecurity = (parts: PodSecurityParts): AdmissionPlugin => {
  const checks = new PodSecurityChecks(parts);
  const targets = [
    ...targetsOf(parts.naming, kinds.pods, '*'),
    ...[kinds.namespaces, ...makers.map(([kind]) => kind)].flatMap(kind => targetsOf(parts.naming, kind)),
  ];
  return {
    name: 'PodSecurity',
    handles: {operations: ['CREATE', 'UPDATE'], targets},
    validate: attributes => checks.validate(attributes),
  };
};
