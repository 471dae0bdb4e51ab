import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod, PodSpec, Volume} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import type {ServiceAccount} from '#src/api/types.js';
import {nameSuffix, type Random} from '#src/base/random.js';
import {podTokenSeconds} from '#src/resources/core/serviceaccount-token.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse, invalidName} from '#src/apiserver/admission/refuse.js';
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

/** Why a container must not reference its secrets. */
function* forbiddenUses(
  what: string,
  {name, env = [], envFrom = []}: AnyContainer,
  allowed: ReadonlySet<string>,
  account: string,
): Iterable<string> {
  const so = (secret: string): string =>
    `referencing secret.secretName="${secret}" is not allowed because service account ${account} does not reference that secret`;
  for (const {name: variable, valueFrom} of env) {
    const secret = valueFrom?.secretKeyRef?.name;
    if (secret !== undefined && !allowed.has(secret)) yield `${what} ${name} with envVar ${variable} ${so(secret)}`;
  }
  for (const {secretRef} of envFrom) {
    const secret = secretRef?.name;
    if (secret !== undefined && !allowed.has(secret)) yield `${what} ${name} with envFrom ${so(secret)}`;
  }
}

function* forbiddenSecrets(spec: Readonly<PodSpec>, account: Readonly<ServiceAccount>): Iterable<string> {
  const own = account.metadata?.name ?? '';
  const allowed = new Set((account.secrets ?? []).map(({name = ''}) => name));
  for (const {secret} of spec.volumes ?? []) {
    const name = secret?.secretName ?? '';
    if (secret && !allowed.has(name))
      yield `volume with secret.secretName="${name}" is not allowed because service account ${own} does not reference that secret`;
  }
  for (const container of spec.initContainers ?? []) yield* forbiddenUses('init container', container, allowed, own);
  for (const container of spec.containers ?? []) yield* forbiddenUses('container', container, allowed, own);
  const pull = new Set((account.imagePullSecrets ?? []).map(({name = ''}) => name));
  for (const [at, {name = ''}] of (spec.imagePullSecrets ?? []).entries()) {
    if (!pull.has(name))
      yield `imagePullSecrets[${at}].name="${name}" is not allowed because service account ${own} does not reference that imagePullSecret`;
  }
}

/** A created pod; undefined for other writes. */
const created = (attributes: AdmissionAttributes) =>
  attributes.operation === 'CREATE' && !attributes.subresource ? podIn(attributes) : undefined;

/**
 * Sets the service account of pods, `default` unless specified, which must exist; mounts its token into their
 * containers and adds its image pull secrets.
 */
export const serviceAccount = (parts: ServiceAccountParts): AdmissionPlugin => {
  const {naming, reader} = parts;
  const isMirror = ({metadata}: Pod): boolean => metadata?.annotations?.[naming.key('config.mirror')] !== undefined;
  const enforces = ({metadata}: Readonly<ServiceAccount>): boolean =>
    /^(1|t|T|true|TRUE|True)$/.test(metadata?.annotations?.[naming.key('enforce-mountable-secrets')] ?? '');

  const accountOf = async (
    attributes: AdmissionAttributes,
    {serviceAccountName: name = ''}: Readonly<PodSpec>,
  ): Promise<Readonly<ServiceAccount>> => {
    const {namespace} = attributes;
    const found = await reader.get(kinds.serviceAccounts, namespace, name);
    if (found) return found;
    throw refuse(
      attributes,
      `error looking up service account ${namespace}/${name}: ${invalidName(name) ?? `serviceaccount "${name}" not found`}`,
    );
  };

  const checkMirror = (attributes: AdmissionAttributes, {spec}: Pod): void => {
    if (spec?.serviceAccountName) throw refuse(attributes, 'a mirror pod may not reference service accounts');
    if (secretNamesOf(spec!).length > 0) throw refuse(attributes, 'a mirror pod may not reference secrets');
    const projections = (spec?.volumes ?? []).flatMap(({projected}) => projected?.sources ?? []);
    if (projections.some(({serviceAccountToken}) => serviceAccountToken))
      throw refuse(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
  };

  const check = async (attributes: AdmissionAttributes, pod: Pod & {spec: PodSpec}): Promise<void> => {
    if (isMirror(pod)) return checkMirror(attributes, pod);
    if (!pod.spec.serviceAccountName)
      throw refuse(attributes, `no service account specified for pod ${attributes.namespace}/${pod.metadata?.name ?? ''}`);
    const account = await accountOf(attributes, pod.spec);
    if (!enforces(account)) return;
    for (const why of forbiddenSecrets(pod.spec, account)) throw refuse(attributes, why);
  };

  /** Ephemeral containers may only reference secrets that the pod may reference. */
  const checkAdded = async (attributes: AdmissionAttributes): Promise<void> => {
    const {spec} = attributes.object as Pod;
    const account = spec && (await accountOf(attributes, spec));
    if (!account || !enforces(account)) return;
    const allowed = new Set((account.secrets ?? []).map(({name = ''}) => name));
    for (const container of spec.ephemeralContainers ?? []) {
      for (const why of forbiddenUses('ephemeral container', container, allowed, account.metadata?.name ?? ''))
        throw refuse(attributes, why);
    }
  };

  return {
    name: 'ServiceAccount',
    handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods, '', 'ephemeralcontainers')},
    async admit(attributes) {
      const pod = created(attributes);
      if (!pod) return;
      if (isMirror(pod)) return checkMirror(attributes, pod);
      const {spec} = pod;
      spec.serviceAccountName ||= defaultAccount;
      // The deprecated field is set as well.
      spec.serviceAccount = spec.serviceAccountName;
      const account = await accountOf(attributes, spec);
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, parts);
      if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
        spec.imagePullSecrets = account.imagePullSecrets.map(({name}) => (name === undefined ? {} : {name}));
      await check(attributes, pod);
    },
    async validate(attributes) {
      if (attributes.operation === 'UPDATE' && attributes.subresource) return checkAdded(attributes);
      const pod = created(attributes);
      if (pod) await check(attributes, pod);
    },
  };
};
