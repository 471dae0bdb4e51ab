// The metrics of CoreDNS, by its names, as far as there is here what they tell about.

import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import {rcodeName, recordTypes} from '#src/dns/wire/codes.js';

/** What answered a query, as the plugin of CoreDNS that does it is called. Empty for what was refused before. */
export type AnsweredBy = 'kubernetes' | 'forward' | 'cache' | 'loop' | '';

/** What is cached: what exists, or that something does not. */
export type CacheType = 'success' | 'denial';

/** A query that was answered. */
export interface AnsweredQuery {
  readonly transport: 'udp' | 'tcp';
  /** The protocol of the client's address. */
  readonly family: 4 | 6;
  readonly type: number;
  readonly dnssec: boolean;
  readonly rcode: number;
  readonly by: AnsweredBy;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly seconds: number;
}

const timeBuckets = exponentialBuckets(0.00025, 2, 16);
const sizeBuckets = [0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16e3, 32e3, 48e3, 64e3];

/** The types that have a label of their own. */
const monitored = new Map<number, string>(
  Object.entries(recordTypes)
    .filter(([name]) => /^(?:A|AAAA|CNAME|DNSKEY|DS|MX|NSEC3?|NS|PTR|RRSIG|SOA|SRV|TXT|HTTPS|SVCB|IXFR|AXFR|ANY)$/.test(name))
    .map(([name, code]) => [code, name]),
);

/** All names belong to the one zone of the server, the root. */
const zone = '.';
/** What was refused before it came to a zone. */
const dropped = 'dropped';
const view = '';

const definitions = (meter: Meter) => {
  const place = ['server', 'zone', 'view'];
  const cachePlace = ['server', 'zones', 'view'];
  const typed = ['server', 'type', 'zones', 'view'];
  const counter = (name: string, help: string, labels: readonly string[] = []) => meter.counter({name: `coredns_${name}`, help, labels});
  const histogram = (name: string, help: string, labels: readonly string[], buckets: readonly number[]) =>
    meter.histogram({name: `coredns_${name}`, help, labels, buckets});
  const byProtocol = [...place, 'proto'];
  return {
    requests: counter('dns_requests_total', 'Counter of DNS requests made per zone, protocol and family.', [
      ...byProtocol,
      'family',
      'type',
    ]),
    durations: histogram(
      'dns_request_duration_seconds',
      'Histogram of the time (in seconds) each request took per zone.',
      place,
      timeBuckets,
    ),
    requestSizes: histogram(
      'dns_request_size_bytes',
      'Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.',
      byProtocol,
      sizeBuckets,
    ),
    wantSignatures: counter('dns_do_requests_total', 'Counter of DNS requests with DO bit set per zone.', place),
    responseSizes: histogram('dns_response_size_bytes', 'Size of the returned response in bytes.', byProtocol, sizeBuckets),
    responses: counter('dns_responses_total', 'Counter of response status codes.', [...place, 'rcode', 'plugin']),
    panics: counter('panics_total', 'A metrics that counts the number of panics.'),
    cacheRequests: counter('cache_requests_total', 'The count of cache requests.', cachePlace),
    cacheHits: counter('cache_hits_total', 'The count of cache hits.', typed),
    cacheMisses: counter(
      'cache_misses_total',
      'The count of cache misses. Deprecated, derive misses from cache hits/requests counters.',
      cachePlace,
    ),
    cacheEvictions: counter('cache_evictions_total', 'The count of cache evictions.', typed),
    brokenHealthchecks: counter('forward_healthcheck_broken_total', 'Counter of the number of complete failures of the healthchecks.'),
    concurrencyRejects: counter(
      'forward_max_concurrent_rejects_total',
      'Counter of the number of queries rejected because the concurrent queries were at maximum.',
    ),
    forwards: histogram(
      'proxy_request_duration_seconds',
      'Histogram of the time each request took.',
      ['proxy_name', 'to', 'rcode'],
      timeBuckets,
    ),
    failedHealthchecks: counter('proxy_healthcheck_failures_total', 'Counter of the number of failed healthchecks.', ['proxy_name', 'to']),
    programming: histogram(
      'kubernetes_dns_programming_duration_seconds',
      'Histogram of the time (in seconds) it took to program a dns instance.',
      ['service_kind'],
      exponentialBuckets(0.001, 2, 20),
    ),
  };
};

type Definitions = ReturnType<typeof definitions>;
type Series = ReturnType<Definitions['requests']['at']>;
type Distribution = ReturnType<Definitions['durations']['at']>;

/** The metrics of one listening address. Its series are kept at hand: there are few, since their labels are. */
export class ServerMetrics {
  readonly #all: Definitions;
  readonly #server: string;
  readonly #requests = new Map<string, Series>();
  readonly #responses = new Map<string, Series>();
  readonly #sizes: Readonly<Record<'udp' | 'tcp', {readonly request: Distribution; readonly response: Distribution}>>;
  readonly #duration: Distribution;

  constructor(all: Definitions, server: string) {
    this.#all = all;
    this.#server = server;
    const sizes = (proto: string) => ({
      request: all.requestSizes.at({server, zone, view, proto}),
      response: all.responseSizes.at({server, zone, view, proto}),
    });
    this.#sizes = {udp: sizes('udp'), tcp: sizes('tcp')};
    this.#duration = all.durations.at({server, zone, view});
  }

  answered({transport, family, type, dnssec, rcode, by, requestBytes, responseBytes, seconds}: AnsweredQuery): void {
    const typeName = monitored.get(type) ?? 'other';
    const place = {server: this.#server, zone: by === '' ? dropped : zone, view};
    const request = `${by === '' ? 0 : 1}${transport}${family}${typeName}`;
    let requests = this.#requests.get(request);
    if (!requests) {
      requests = this.#all.requests.at({...place, proto: transport, family: family === 4 ? '1' : '2', type: typeName});
      this.#requests.set(request, requests);
    }
    requests.add();
    const response = `${by} ${rcode}`;
    let responses = this.#responses.get(response);
    if (!responses) {
      responses = this.#all.responses.at({...place, rcode: rcodeName(rcode), plugin: by});
      this.#responses.set(response, responses);
    }
    responses.add();
    if (dnssec) this.#all.wantSignatures.add(place);
    this.#sizes[transport].request.observe(requestBytes);
    this.#sizes[transport].response.observe(responseBytes);
    this.#duration.observe(seconds);
  }

  /** Counts a question that was looked up in the cache, and was found there or not. */
  cacheLookup(hit: CacheType | undefined): void {
    const place = {server: this.#server, zones: zone, view};
    this.#all.cacheRequests.add(place);
    if (hit) this.#all.cacheHits.add({...place, type: hit});
    else this.#all.cacheMisses.add(place);
  }
}

/** The metrics of a server. */
export class DnsMetrics {
  readonly #all: Definitions;
  readonly #meter: Meter;

  constructor(meter: Meter) {
    this.#all = definitions(meter);
    this.#meter = meter;
  }

  /** The metrics of one address at which the server listens, as `dns://:53`. */
  ofServer(server: string): ServerMetrics {
    return new ServerMetrics(this.#all, server);
  }

  panicked(): void {
    this.#all.panics.add();
  }

  forwarded(to: string, rcode: string, seconds: number): void {
    this.#all.forwards.observe(seconds, {proxy_name: 'forward', to, rcode});
  }

  healthcheckFailed(to: string): void {
    this.#all.failedHealthchecks.add({proxy_name: 'forward', to});
  }

  healthchecksBroken(): void {
    this.#all.brokenHealthchecks.add();
  }

  concurrencyRefused(): void {
    this.#all.concurrencyRejects.add();
  }

  evicted(server: string, type: CacheType): void {
    this.#all.cacheEvictions.add({server, type, zones: zone, view});
  }

  /** Shows the number of entries of the cache. */
  observeCache(server: string, size: (type: CacheType) => number): Disposable {
    const spec = {name: 'coredns_cache_entries', help: 'The number of elements in the cache.', labels: ['server', 'type', 'zones', 'view']};
    return this.#meter.observed(spec, () =>
      (['success', 'denial'] as const).map(type => [{server, type, zones: zone, view}, size(type)] as const),
    );
  }

  /** Records how long after the change of a service's endpoints they were served. */
  programmed(isHeadless: boolean, seconds: number): void {
    this.#all.programming.observe(seconds, {service_kind: isHeadless ? 'headless_with_selector' : 'cluster_ip'});
  }
}
