// The objects that an API server writes when it starts, by name: those that its start hooks can write anew.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {builtInRegistrations} from '#src/controlplane/apiservices/autoregister.js';
import {authenticationConfigName} from '#src/controlplane/authentication-config.js';
import {objectName, type ObjectName} from '#src/controlplane/ensure.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {systemNamespaces} from '#src/controlplane/namespaces.js';
import {selfServiceNamespace} from '#src/controlplane/self-service.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {mandatoryObjects, suggestedObjects} from '#src/resources/flowcontrol/bootstrap.js';
import {systemPriorityClasses} from '#src/resources/scheduling/priorityclass.js';

/** The names of the objects of one kind. */
export type OwnObjects = readonly [kind: Kind, names: readonly ObjectName[]];

export interface OwnObjectParts {
  readonly registry: Registry;
  readonly naming: Naming;
  readonly host: string;
  /** Whether the RBAC authorizer is in force. */
  readonly rbac: boolean;
  readonly options: Pick<ApiserverOptions, 'endpointReconcilerType'>;
  /** The address of the service of the API servers. */
  readonly serviceAddress: string;
  /** What the program around the server writes when it starts. */
  readonly alsoOwn?: readonly OwnObjects[] | undefined;
  gate(name: string): boolean;
}

/**
 * Returns the objects that the start hooks of a server create if they are missing. Those of kinds that are not served
 * are left out.
 */
export const ownObjects = ({registry, naming, host, rbac, options, serviceAddress, alsoOwn = [], gate}: OwnObjectParts): OwnObjects[] => {
  const {self, systemNamespace} = naming;
  const served = registry.builtIn.map(({kind}) => kind);
  const flowControl = [suggestedObjects(naming), mandatoryObjects(naming)];
  const service = [{name: self, namespace: selfServiceNamespace}];
  const endpoints = options.endpointReconcilerType === 'none' ? [] : service;
  const own: OwnObjects[] = [
    [kinds.namespaces, systemNamespaces(naming).map(name => ({name}))],
    [kinds.priorityClasses, systemPriorityClasses.map(({name}) => ({name}))],
    [kinds.priorityLevelConfigurations, flowControl.flatMap(({levels}) => levels.map(objectName))],
    [kinds.flowSchemas, flowControl.flatMap(({schemas}) => schemas.map(objectName))],
    [kinds.serviceCIDRs, [{name: self}]],
    [kinds.apiServices, [...builtInRegistrations(served, naming).keys()].map(name => ({name}))],
    [kinds.services, service],
    [kinds.ipAddresses, [{name: serviceAddress}]],
    [kinds.endpoints, endpoints],
    [kinds.endpointSlices, endpoints],
    [kinds.configMaps, [authenticationConfigName, naming.legacyTokenTracking].map(name => ({name, namespace: systemNamespace}))],
    [kinds.leases, [{name: serverIdentity(host), namespace: systemNamespace}]],
    ...(rbac ? policyObjects(naming, gate) : []),
    ...alsoOwn,
  ];
  return own.filter(([kind]) => registry.serves(kind));
};

const policyObjects = (naming: Naming, gate: OwnObjectParts['gate']): OwnObjects[] => {
  const {clusterRoles, clusterRoleBindings, roles, roleBindings} = bootstrapPolicy(naming, gate);
  return [
    [kinds.clusterRoles, clusterRoles.map(objectName)],
    [kinds.clusterRoleBindings, clusterRoleBindings.map(objectName)],
    [kinds.roles, roles.map(objectName)],
    [kinds.roleBindings, roleBindings.map(objectName)],
  ];
};
