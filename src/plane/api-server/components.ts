import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {HealthChecks} from '#src/observe/health.js';
import type {ComponentHealth} from '#src/resources/definition.js';
import type {Store} from '#src/storage/store.js';
import type {Dial} from '#src/transport/dial.js';
import {CallAborted} from '#src/transport/http1/calls.js';
import {singleCall} from '#src/transport/http1/single-call.js';

/** The components besides the server. */
export type Component = 'scheduler' | 'controller-manager';

/** The default ports of their health endpoints. */
const defaultPorts: Readonly<Record<Component, number>> = {scheduler: 10259, 'controller-manager': 10257};
const probeTimeoutMs = 20_000;
/** The length of a component's message that is reported. */
const maxReportedBytes = 10 << 10;
const maxReadBytes = 1 << 20;

export interface ComponentParts {
  readonly store: Store;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly dial: Dial;
  readonly ports?: Readonly<Record<Component, number>>;
  /** The health checks of components in this process, which run without a request. */
  readonly beside?: Readonly<Partial<Record<Component, HealthChecks>>>;
}

const healthOf = (name: string, status: number, text: string): ComponentHealth => {
  if (status >= 200 && status < 300) return {name, healthy: true, message: text};
  if (status >= 300 && status < 400) return {name, message: `Probe terminated redirects, Response body: ${text}`};
  return {name, healthy: false, message: `HTTP probe failed with statuscode: ${status}`};
};

/** Requests a component's health over its port. Its certificate is not verified, since nothing confidential is sent. */
const probe = async (name: Component, port: number, {clock, dial}: Pick<ComponentParts, 'clock' | 'dial'>): Promise<ComponentHealth> => {
  const url = `https://127.0.0.1:${port}/healthz`;
  try {
    const {status, body} = await singleCall(new URL(url), {
      tls: {insecure: true},
      dial,
      clock,
      timeoutMs: probeTimeoutMs,
      maxBytes: maxReadBytes,
    });
    return healthOf(name, status, body.subarray(0, maxReportedBytes).toString());
  } catch (error) {
    const late = error instanceof CallAborted;
    const message = late ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' : (error as Error).message;
    return {name, healthy: false, message: `Get ${JSON.stringify(url)}: ${message}`};
  }
};

const check = async (name: Component, checks: HealthChecks): Promise<ComponentHealth> => {
  const {status, body} = await checks.all('healthz');
  return healthOf(name, status, body);
};

const storeHealth = async (store: Store, name: string): Promise<ComponentHealth> => {
  try {
    await store.revision();
    return {name, healthy: true, message: 'ok'};
  } catch (error) {
    return {name, healthy: false, message: '', error: (error as Error).message};
  }
};

/** The health of the store and of the other components. */
export const componentsOf = (parts: ComponentParts) => async (): Promise<readonly ComponentHealth[]> => {
  const {ports = defaultPorts, beside: here = {}} = parts;
  const others = (Object.keys(ports) as Component[]).map(name => (here[name] ? check(name, here[name]) : probe(name, ports[name], parts)));
  const stores = (parts.store.parts ?? [parts.store]).map((store, index) => storeHealth(store, `${parts.naming.store}-${index}`));
  return Promise.all([...others, ...stores]);
};
