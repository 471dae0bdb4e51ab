import {kinds} from '#src/api/kinds/index.js';
import type {Pod, Volume} from '#src/api/pod.js';
import {StatusError} from '#src/api/status.js';
import type {TokenRequest} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {existing, existingPod, quote, type NodeRule, type NodeRules} from './node-rule.js';

/** The driver of a pod's volume that comes from a claim. */
const claimedDriver = async (rules: NodeRules, namespace: string, claim: string): Promise<string | undefined> => {
  const {spec} = await existing(rules, kinds.persistentVolumeClaims, namespace, claim);
  if (!spec?.volumeName) return undefined;
  const volume = await existing(rules, kinds.persistentVolumes, '', spec.volumeName);
  return volume.spec?.csi?.driver;
};

const driverOf = async (rules: NodeRules, pod: Pod, {csi, persistentVolumeClaim, ephemeral, name}: Volume): Promise<string | undefined> => {
  if (csi) return csi.driver;
  const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod.metadata?.name}-${name}` : undefined);
  return claim === undefined ? undefined : claimedDriver(rules, pod.metadata?.namespace ?? '', claim);
};

/**
 * Whether a pod has a volume that needs a token of the audience. A missing object is reported only if no other volume
 * needs it.
 */
const needsToken = async (rules: NodeRules, pod: Pod, audience: string): Promise<boolean> => {
  const volumes = pod.spec?.volumes ?? [];
  if (
    volumes.some(({projected}) =>
      projected?.sources?.some(({serviceAccountToken}) => serviceAccountToken && (serviceAccountToken.audience ?? '') === audience),
    )
  )
    return true;
  const problems: string[] = [];
  for (const volume of volumes) {
    try {
      const driver = await driverOf(rules, pod, volume);
      if (driver === undefined) continue;
      const {spec} = await existing(rules, kinds.csiDrivers, '', driver);
      if (spec.tokenRequests?.some(request => (request.audience ?? '') === audience)) return true;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`);
  return false;
};

/** Whether a rule allows the node to request tokens of the account for the audience, regardless of volumes. */
const isGranted = async ({authorizer}: NodeRules, {user, namespace, name}: AdmissionAttributes, audience: string): Promise<boolean> => {
  if (!authorizer || audience === '') return false;
  const resource = {group: '', version: 'v1', resource: audience, subresource: '', namespace, name};
  return (await authorizer.authorize({user, verb: 'request-serviceaccounts-token-audience', resource, path: ''})).decision === 'allow';
};

const audienceProblem = async (
  rules: NodeRules,
  attributes: AdmissionAttributes,
  pod: Pod,
  {spec}: TokenRequest,
): Promise<string | undefined> => {
  const [audience = '', ...others] = spec.audiences ?? [];
  if (others.length > 0) return 'node may only request 0 or 1 audiences';
  try {
    if (await needsToken(rules, pod, audience)) return undefined;
  } catch (error) {
    if (await isGranted(rules, attributes, audience)) return undefined;
    return `error validating audience ${quote(audience)}: ${(error as Error).message}`;
  }
  if (await isGranted(rules, attributes, audience)) return undefined;
  return `audience ${quote(audience)} not found in pod spec volume, ${attributes.user.name} is not authorized to request tokens for this audience`;
};

/** A node may only request tokens for pods that are bound to it and use them. */
export const tokenRule: NodeRule = async (rules, node, attributes) => {
  const {operation, subresource, namespace, object} = attributes;
  if (operation !== 'CREATE' || subresource !== 'token') return undefined;
  const request = object as TokenRequest;
  const reference = request.spec.boundObjectRef;
  if (reference?.apiVersion !== 'v1' || reference.kind !== kinds.pods.kind || !reference.name)
    return 'node requested token not bound to a pod';
  if (!reference.uid) return 'node requested token with a pod binding without a uid';
  const pod = await existingPod(rules, namespace, reference.name);
  if (reference.uid !== pod.metadata?.uid) {
    return `the UID in the bound object reference (${reference.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  }
  if (pod.spec?.nodeName !== node) return 'node requested token bound to a pod scheduled on a different node';
  return rules.gate('ServiceAccountNodeAudienceRestriction') ? audienceProblem(rules, attributes, pod, request) : undefined;
};
