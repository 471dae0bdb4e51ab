import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {inProcessCaller} from '#src/client/in-process.js';
import {limited, rateOf} from '#src/client/limits.js';
import {clientOver} from '#src/client/resource-client.js';

export interface ComponentClients {
  readonly handler: ApiHandler;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly options: {readonly platApiQps: number; readonly platApiBurst: number};
  /** Flags given explicitly. */
  readonly set: ReadonlySet<string>;
}

interface Factors {
  readonly qpsFactor: number;
  readonly burstFactor: number;
}

/** Clients of a component beside its API server, by the user they act as; each with limits of its own where limits were asked for. */
export const componentClients = ({handler, naming, clock, options, set}: ComponentClients) => {
  const isLimited = set.has('plat-api-qps') || set.has('plat-api-burst');
  const {qps, burst} = rateOf(options);
  return (user: UserInfo, userAgent: string, {qpsFactor, burstFactor}: Factors = {qpsFactor: 1, burstFactor: 1}): Client => {
    const caller = inProcessCaller(handler, {user, userAgent});
    return clientOver(isLimited ? limited(caller, {qps: qps * qpsFactor, burst: burst * burstFactor}, {clock}) : caller, naming);
  };
};
