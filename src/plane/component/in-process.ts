import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import {serviceAccountUser, wellKnown, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {inProcessCaller} from '#src/client/in-process.js';
import {limited, rateOf} from '#src/client/limits.js';
import {clientOver} from '#src/client/resource-client.js';
import type {Allowance, ComponentConnection} from './connection.js';

export interface InProcessParts {
  /** The component's role, for example `scheduler`. */
  readonly role: string;
  readonly handler: ApiHandler;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly options: {readonly platApiQps: number; readonly platApiBurst: number};
  /** Flags given explicitly. */
  readonly set: ReadonlySet<string>;
}

/**
 * The duration of watches within the process: connections cannot break here, and there is no other server to balance
 * with.
 */
export const watchSecondsInProcess = 86_400;

/**
 * The connection of a component in the API server's process. Its users need no credentials, and clients have limits
 * only if flags set them.
 */
export const inProcessConnection = ({role, handler, naming, clock, options, set}: InProcessParts): ComponentConnection => {
  const agent = naming.component(role);
  const user: UserInfo = {name: naming.componentUser(role), groups: [wellKnown.authenticated]};
  const isLimited = set.has('plat-api-qps') || set.has('plat-api-burst');
  const {qps, burst} = rateOf(options);
  const clientAs = (as: UserInfo, part: string, {qpsFactor = 1, burstFactor = 1}: Allowance = {}): Client => {
    const caller = inProcessCaller(handler, {user: as, userAgent: `${agent}/${part}`, clock});
    return clientOver(isLimited ? limited(caller, {qps: qps * qpsFactor, burst: burst * burstFactor}, {clock}) : caller, naming);
  };
  const client = (part: string, allowance?: Allowance) => clientAs(user, part, allowance);
  return {
    naming,
    client,
    accountClient: (account, part, allowance) => clientAs(serviceAccountUser(naming.systemNamespace, account), part, allowance),
    // The lock's name is plat's own, which the role of the component's user does not allow in every naming.
    lockClient: (part, allowance) => clientAs({...user, groups: [wellKnown.masters, wellKnown.authenticated]}, part, allowance),
    async reviewers() {
      const reviewer = client('delegated-review');
      return {authentication: reviewer, authorization: reviewer};
    },
    opensPortOnlyOnRequest: true,
    watchSeconds: watchSecondsInProcess,
  };
};
