import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodSpec, Volume} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import type {ServiceAccount} from '#src/api/types.js';
import type {Random} from '#src/base/random.js';
import {nameSuffix} from '#src/base/text/name-suffix.js';
import {podTokenSeconds} from '#src/resources/core/serviceaccount-token.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse, invalidName} from '#src/apiserver/admission/refuse.js';
import {forbiddenInEphemeral, forbiddenSecrets} from './mountable-secrets.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';

export interface ServiceAccountParts {
  readonly naming: Naming;
  readonly reader: Reader;
  readonly random: Random;
}

const defaultAccount = 'default';

/** The volume at the mount path: a token, the server's CA bundle, and the namespace. */
const tokenVolume = (name: string, naming: Naming): Volume => ({
  name,
  projected: {
    defaultMode: 0o644,
    sources: [
      {serviceAccountToken: {expirationSeconds: podTokenSeconds, path: 'token'}},
      {configMap: {name: naming.rootCaConfigMap, items: [{key: 'ca.crt', path: 'ca.crt'}]}},
      {downwardAPI: {items: [{path: 'namespace', fieldRef: {apiVersion: 'v1', fieldPath: 'metadata.namespace'}}]}},
    ],
  },
});

/** Mounts the account's token in every container without a volume at the mount path. */
const mountToken = (spec: PodSpec, {naming, random}: ServiceAccountParts): void => {
  const prefix = `${naming.component('api-access')}-`;
  const existing = spec.volumes?.find(({name}) => name.startsWith(prefix));
  const name = existing?.name ?? prefix + nameSuffix(random, 5);
  const mountPath = naming.tokenMountPath;
  let needed = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (container.volumeMounts?.some(mount => mount.mountPath === mountPath)) continue;
    (container.volumeMounts ??= []).push({name, readOnly: true, mountPath});
    needed = true;
  }
  if (needed && !existing) (spec.volumes ??= []).push(tokenVolume(name, naming));
};

/** A created pod; undefined for other writes. */
const created = (attributes: AdmissionAttributes) =>
  attributes.operation === 'CREATE' && !attributes.subresource ? podIn(attributes) : undefined;

const checkMirror = (attributes: AdmissionAttributes, {spec}: Pod): void => {
  if (spec?.serviceAccountName) throw refuse(attributes, 'a mirror pod may not reference service accounts');
  if (secretNamesOf(spec!).length > 0) throw refuse(attributes, 'a mirror pod may not reference secrets');
  const projections = (spec?.volumes ?? []).flatMap(({projected}) => projected?.sources ?? []);
  if (projections.some(({serviceAccountToken}) => serviceAccountToken))
    throw refuse(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
};

/** Checks pods against their service accounts. */
class AccountChecks {
  readonly #naming: Naming;
  readonly #reader: Reader;

  constructor({naming, reader}: ServiceAccountParts) {
    this.#naming = naming;
    this.#reader = reader;
  }

  isMirror({metadata}: Pod): boolean {
    return metadata?.annotations?.[this.#naming.key('config.mirror')] !== undefined;
  }

  #enforces({metadata}: Readonly<ServiceAccount>): boolean {
    return /^(1|t|T|true|TRUE|True)$/.test(metadata?.annotations?.[this.#naming.key('enforce-mountable-secrets')] ?? '');
  }

  async accountOf(attributes: AdmissionAttributes, {serviceAccountName: name = ''}: Readonly<PodSpec>): Promise<Readonly<ServiceAccount>> {
    const {namespace} = attributes;
    const found = await this.#reader.get(kinds.serviceAccounts, namespace, name);
    if (found) return found;
    throw refuse(
      attributes,
      `error looking up service account ${namespace}/${name}: ${invalidName(name) ?? `serviceaccount "${name}" not found`}`,
    );
  }

  async check(attributes: AdmissionAttributes, pod: Pod & {spec: PodSpec}): Promise<void> {
    if (this.isMirror(pod)) return checkMirror(attributes, pod);
    if (!pod.spec.serviceAccountName)
      throw refuse(attributes, `no service account specified for pod ${attributes.namespace}/${pod.metadata?.name ?? ''}`);
    const account = await this.accountOf(attributes, pod.spec);
    if (!this.#enforces(account)) return;
    for (const why of forbiddenSecrets(pod.spec, account)) throw refuse(attributes, why);
  }

  async checkAdded(attributes: AdmissionAttributes): Promise<void> {
    const {spec} = attributes.object as Pod;
    const account = spec && (await this.accountOf(attributes, spec));
    if (!account || !this.#enforces(account)) return;
    for (const why of forbiddenInEphemeral(spec, account)) throw refuse(attributes, why);
  }
}

/**
 * Sets the service account of pods, `default` unless specified, which must exist; mounts its token into their
 * containers and adds its image pull secrets.
 */
export const serviceAccount = (parts: ServiceAccountParts): AdmissionPlugin => {
  const checks = new AccountChecks(parts);
  return {
    name: 'ServiceAccount',
    handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(parts.naming, kinds.pods, '', 'ephemeralcontainers')},
    changes: [
      'spec.serviceAccountName',
      'spec.serviceAccount',
      'spec.imagePullSecrets',
      'spec.volumes',
      'spec.containers[].volumeMounts',
      'spec.initContainers[].volumeMounts',
    ],
    async admit(attributes) {
      const pod = created(attributes);
      if (!pod) return;
      if (checks.isMirror(pod)) return checkMirror(attributes, pod);
      const {spec} = pod;
      spec.serviceAccountName ||= defaultAccount;
      // The deprecated field is set as well.
      spec.serviceAccount = spec.serviceAccountName;
      const account = await checks.accountOf(attributes, spec);
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, parts);
      if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
        spec.imagePullSecrets = account.imagePullSecrets.map(({name}) => (name === undefined ? {} : {name}));
      await checks.check(attributes, pod);
    },
    async validate(attributes) {
      if (attributes.operation === 'UPDATE' && attributes.subresource) return checks.checkAdded(attributes);
      const pod = created(attributes);
      if (pod) await checks.check(attributes, pod);
    },
  };
};
