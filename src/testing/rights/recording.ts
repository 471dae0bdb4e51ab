// Records what an operator does in its tests, as the rights that it needs.

import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname} from 'node:path';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import {makeFolder} from '#src/base/files/folder.js';
import type {InterceptedRequest, Interception, Interceptor} from '#src/api/faults/interceptor.js';
import {covers, distinctRights, isSameRight, sortedRights, type Right} from '#src/codegen/rights/rules.js';
import type {Client} from '#src/operator/client/client.js';
import type {OperatorController} from '#src/operator/controller.js';
import {declaredRights, programRights, type ProgramNeeds} from './declared.js';

/** The part of a plane that a recording uses. */
interface RecordedPlane {
  readonly naming: Naming;
  client(user?: UserInfo): Client;
  intercept(interceptor: Interceptor): Disposable;
}

/** What is recorded, and what is known without. */
export interface RecordRightsOptions extends ProgramNeeds {
  /** The name of the operator. */
  readonly name: string;
  /** Its controllers, whose declarations say what they list and watch. */
  readonly controllers?: readonly OperatorController[];
  /**
   * The namespaces that the manager is restricted to, and the only ones in which the operator may act. Default: all.
   */
  readonly namespaces?: readonly string[];
}

/** The rights of an operator, as its tests use them. */
export interface RightsRecording {
  /** Returns the client of the operator on a plane. It may do everything, and what it does is recorded. */
  client(plane: RecordedPlane): Client;
  /** Writes the file for `plat generate rbac`, and creates its folder if it is missing. */
  write(file: string): void;
}

/**
 * Records the requests of an operator on planes: run its tests with `client(plane)` as the client of the manager, and
 * `write` the file at their end. Objects are not told apart: the right to delete one config map is that to delete any.
 *
 *     const rights = recordRights({name: 'backups', controllers: [backups], leaderElection: true});
 *     const manager = createManager({controllers: [backups], client: rights.client(plane)});
 *     after(() => rights.write('rights.json'));
 */
export const recordRights = (options: RecordRightsOptions): RightsRecording => {
  const {name, controllers = [], namespaces = []} = options;
  const user = {name, groups: ['system:masters', 'system:authenticated']};
  const seen: Right[] = [];
  const declared = [
    ...controllers.flatMap(controller => declaredRights(controller, namingOf('kubernetes'), namespaces)),
    ...programRights(options, namingOf('kubernetes')),
  ];
  const add = (asked: Right): void => {
    if (declared.some(each => covers(each, asked))) return;
    const {group, resource, verb, namespace = ''} = asked;
    const right = {group, resource, verb, ...(namespaces.includes(namespace) ? {namespace} : {})};
    if (!seen.some(each => isSameRight(each, right))) seen.push(right);
  };
  return {
    client(plane) {
      plane.intercept(request => (request.user === name ? recorded(request, add) : undefined));
      return plane.client(user);
    },
    write(file) {
      const text = `${JSON.stringify({rights: sortedRights(distinctRights([...declared, ...seen]))}, undefined, 2)}\n`;
      makeFolder(dirname(file));
      // An unchanged file keeps its time.
      if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
    },
  };
};

/** Records a request. An apply that creates its object needs the right to create it, too. */
const recorded = (request: InterceptedRequest, add: (right: Right) => void): Interception | undefined => {
  const {verb, group, subresource, namespace, name} = request;
  const resource = subresource ? `${request.resource}/${subresource}` : request.resource;
  const right = {group, resource, ...(namespace ? {namespace} : {}), ...(name ? {name} : {})};
  add({...right, verb});
  if (verb !== 'patch') return undefined;
  return {
    kind: 'around',
    async around(handle) {
      const response = await handle();
      if ((response as {readonly status?: number}).status === 201) add({...right, verb: 'create'});
      return response;
    },
  };
};
