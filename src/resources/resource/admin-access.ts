import {forbiddenField, internalFieldError, invalidObject, type FieldError} from '#src/api/field-error.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {KubeObject} from '#src/api/types.js';
import type {HookContext, WriteChecks, AllocationHooks} from '#src/resources/definition.js';
import type {ClaimSpec, ResourceClaim} from './claim-spec.js';

/** Returns why a namespace has no admin access to devices in use by others: it needs a label (KEP-5018). */
const problemOf = async (path: string, namespace: string, reader: Reader, naming: Naming): Promise<FieldError | undefined> => {
  const label = naming.subKey('resource', 'admin-access');
  const found = await reader.get(kinds.namespaces, '', namespace);
  if (!found)
    return internalFieldError(
      path,
      `could not retrieve namespace to verify admin access: namespaces ${JSON.stringify(namespace)} not found`,
    );
  return found.metadata?.labels?.[label] === 'true'
    ? undefined
    : forbiddenField(path, `admin access to devices requires the \`${label}: true\` label on the containing namespace`);
};

/** Returns the hook that rejects requests for admin access in namespaces without the label. */
export const adminAccess =
  <T extends KubeObject>(
    {kind}: Kind<T>,
    specOf: (object: Readonly<T>) => Readonly<ClaimSpec> | undefined,
  ): AllocationHooks<T>['allocate'] =>
  async (object, old, {gate, naming, reader}) => {
    const index = (specOf(object)?.devices?.requests ?? []).findIndex(({exactly}) => exactly?.adminAccess === true);
    if (old || index < 0 || !gate('DRAAdminAccess')) return;
    const {name = '', namespace = ''} = object.metadata ?? {};
    const problem = await problemOf(`spec.devices.requests[${index}].adminAccess`, namespace, reader, naming);
    if (problem) throw invalidObject({group: naming.group('resource'), kind}, name, [problem]);
  };

const grantedAt = (claim: Readonly<ResourceClaim> | undefined): number =>
  (claim?.status?.allocation?.devices?.results ?? []).findIndex(({adminAccess: granted}) => granted === true);

/** Checks that only labelled namespaces are allocated admin access; existing allocations are not checked again. */
export const mayAllocateToAdmin = async (
  claim: Readonly<ResourceClaim>,
  old: Readonly<ResourceClaim> | undefined,
  {naming}: HookContext,
  {reader}: WriteChecks,
): Promise<FieldError[]> => {
  const index = grantedAt(claim);
  if (index < 0 || grantedAt(old) >= 0) return [];
  const problem = await problemOf(
    `status.allocation.devices.results[${index}].adminAccess`,
    claim.metadata?.namespace ?? '',
    reader,
    naming,
  );
  return problem ? [problem] : [];
};
