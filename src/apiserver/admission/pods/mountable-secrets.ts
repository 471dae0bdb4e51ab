import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import type {ServiceAccount} from '#src/api/types.js';

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

/** Why a pod of the account must not reference its secrets. */
export function* forbiddenSecrets(spec: Readonly<PodSpec>, account: Readonly<ServiceAccount>): Iterable<string> {
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

/** Why ephemeral containers must not reference their secrets: only those that the pod may reference. */
export function* forbiddenInEphemeral(spec: Readonly<PodSpec>, account: Readonly<ServiceAccount>): Iterable<string> {
  const allowed = new Set((account.secrets ?? []).map(({name = ''}) => name));
  for (const container of spec.ephemeralContainers ?? [])
    yield* forbiddenUses('ephemeral container', container, allowed, account.metadata?.name ?? '');
}
