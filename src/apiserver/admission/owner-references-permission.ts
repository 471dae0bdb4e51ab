import {sameJson} from '#src/api/equal.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {OwnerReference} from '#src/api/types.js';
import type {AdmissionAttributes, AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';

export interface OwnerReferencesParts {
  readonly naming: Naming;
  readonly authorizer: Authorizer;
  /** The served kinds of that name in an apiVersion. */
  kindsOf(apiVersion: string, kind: string): readonly Kind[];
}

/**
 * Requires permission to delete an object for changes of its owners, since these may cause its deletion, and permission
 * to update an owner's finalizers for blocking its deletion.
 */
export const ownerReferencesPermission = ({naming, authorizer, kindsOf}: OwnerReferencesParts): AdmissionPlugin => {
  const ownersOf = (object: AdmissionAttributes['object']): readonly OwnerReference[] => object?.metadata?.ownerReferences ?? [];

  const checkDelete = async (attributes: AdmissionAttributes): Promise<void> => {
    const {user, group, version, resource, subresource, namespace, name} = attributes;
    const {decision, reason} = await authorizer.authorize({
      user,
      verb: 'delete',
      path: '',
      resource: {group, version, resource, subresource, namespace, name},
    });
    if (decision !== 'allow') throw refuse(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason ?? ''}, <nil>`);
  };

  const checkBlocking = async (attributes: AdmissionAttributes, {apiVersion, kind, name}: OwnerReference): Promise<void> => {
    const found = kindsOf(apiVersion, kind);
    if (found.length === 0) {
      throw refuse(
        attributes,
        `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
      );
    }
    for (const {group, version, plural, namespaced} of found) {
      const namespace = namespaced ? attributes.namespace : '';
      const resource = {group: naming.group(group), version, resource: plural, subresource: 'finalizers', namespace, name};
      const {decision, reason} = await authorizer.authorize({user: attributes.user, verb: 'update', path: '', resource});
      if (decision !== 'allow')
        throw refuse(
          attributes,
          `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason ?? ''}, <nil>`,
        );
    }
  };

  return {
    name: 'OwnerReferencesPermissionEnforcement',
    handles: {operations: ['CREATE', 'UPDATE']},
    async validate(attributes) {
      const {operation, group, resource, subresource, object, oldObject} = attributes;
      if (group === '' && resource === 'pods' && subresource === 'status') return;
      const [now, before] = [ownersOf(object), ownersOf(oldObject)];
      if (sameJson(now, before)) return;
      if (operation !== 'CREATE') await checkDelete(attributes);
      const blocked = new Set(before.filter(({blockOwnerDeletion}) => blockOwnerDeletion).map(({uid}) => uid));
      for (const owner of now) if (owner.blockOwnerDeletion && !blocked.has(owner.uid)) await checkBlocking(attributes, owner);
    },
  };
};
