// The records of the cluster's domain: the DNS-based service discovery of Kubernetes, version 1.1.0, answered as
// CoreDNS answers where the specification is silent.

import type {Frozen} from '#src/api/key.js';
import {parseIp, formatIp} from '#src/base/ip-address.js';
import {internet, recordTypes as type} from '#src/dns/wire/codes.js';
import {addressData, authorityData, serviceData, textData} from '#src/dns/wire/data.js';
import type {Question, ResourceRecord} from '#src/dns/wire/message.js';
import {isWithin, labelsOf, lowerCase, nameOfLabels, parseName, type WireName} from '#src/dns/wire/names.js';
import {clusterIpsOf, isHeadless, type Cluster, type Service} from './cluster.js';
import type {PodMode} from '#src/dns/settings/settings.js';
import {find, type Found, type FoundAddress} from './found.js';
import {readNameRequest} from './request.js';

/** The version of the specification, and how long it is kept. */
const schemaVersion = '1.1.0';
const schemaTtl = 28_800;

/** The most names that lead to others, one after the other. */
const longestChain = 11;

/** How a zone answers a question. */
export type Verdict =
  | {readonly kind: 'records'; readonly answers: readonly ResourceRecord[]; readonly additional?: readonly ResourceRecord[]}
  /** The name exists, but has no records of the type. */
  | {readonly kind: 'nothing'}
  | {readonly kind: 'unknown'}
  | {readonly kind: 'refused'}
  /** The rest of the answer is that of another name, outside of the domain. */
  | {readonly kind: 'alias'; readonly answers: readonly ResourceRecord[]; readonly target: WireName};

const nothing: Verdict = {kind: 'nothing'};
const unknown: Verdict = {kind: 'unknown'};
const some = (answers: readonly ResourceRecord[], additional: readonly ResourceRecord[] = []): Verdict =>
  answers.length > 0 ? {kind: 'records', answers, additional} : nothing;

export interface ClusterZoneParts {
  /** The cluster's domain, as `cluster.local`. */
  readonly domain: WireName;
  readonly cluster: Cluster;
  readonly podMode: PodMode;
  readonly ttl: number;
  /** The addresses at which the server is reached. */
  nameservers(): readonly string[];
  /** The second in which the cluster last changed. */
  serial(): number;
}

/** The cluster's records as a server needs them. */
export interface ServedZone extends Pick<ClusterZone, 'domain' | 'resolve' | 'authority' | 'pointers'> {
  /** Whether all that the zone shows has been received. */
  isSynced(): boolean;
  /** A number that becomes another one before the zone answers anything differently. */
  version(): number;
}

/** The zone of the cluster's domain. */
export class ClusterZone {
  readonly domain: WireName;
  readonly #parts: ClusterZoneParts;
  readonly #depth: number;

  constructor(parts: ClusterZoneParts) {
    this.domain = lowerCase(parts.domain);
    this.#parts = parts;
    this.#depth = labelsOf(this.domain).length;
  }

  /** The answer to a question for a name of the domain. */
  resolve(question: Question): Verdict {
    const {name} = question;
    const lower = lowerCase(name);
    switch (question.type) {
      case type.AXFR:
      case type.IXFR:
        return {kind: 'refused'};
      case type.SOA:
        return lower === this.domain ? some([this.authority(name)]) : this.#existence(lower);
      case type.NS:
        return lower === this.domain ? this.#nameservers(name) : this.#existence(lower);
      case type.TXT:
        return this.#text(name, lower);
      case type.A:
      case type.AAAA:
        return this.#addresses(name, question.type);
      case type.CNAME: {
        const found = this.#find(lower);
        return found.kind === 'alias' ? some(this.#alias(name, found.target)) : this.#existence(lower);
      }
      case type.SRV:
        return this.#services(name, lower);
      default:
        return this.#existence(lower);
    }
  }

  /** The record that says who answers for the domain; in the case in which the domain was written. */
  authority(name: WireName): ResourceRecord {
    const {ttl, serial} = this.#parts;
    const zone = this.#zoneIn(name);
    return {
      name: zone,
      type: type.SOA,
      class: internet,
      ttl: Math.min(ttl, 300),
      data: authorityData({
        nameserver: this.#below(['ns', 'dns'], zone),
        mailbox: this.#below(['hostmaster'], zone),
        serial: serial(),
        refresh: 7200,
        retry: 1800,
        expire: 86_400,
        minimum: ttl,
      }),
    };
  }

  /** The names of what has an address: of the service with that cluster IP, or of each endpoint. */
  namesOf(ip: string): WireName[] {
    const {cluster} = this.#parts;
    const {namespace = '', name = ''} = cluster.serviceOfClusterIp(ip)?.metadata ?? {};
    if (name) return [this.#below([name, namespace, 'svc'], this.domain)];
    const names = cluster.endpointsAt(ip).map(each => this.#below([each.id, each.service, each.namespace, 'svc'], this.domain));
    return [...new Set(names)];
  }

  /** The records of an address that is written backwards (RFC 1035, section 3.5). */
  pointers(name: WireName, ip: string): ResourceRecord[] {
    return this.namesOf(ip).map(data => this.#record(name, type.PTR, data));
  }

  #find(lower: WireName): Found {
    return find(this.#parts.cluster, this.#parts.podMode, readNameRequest(labelsOf(lower).slice(0, -this.#depth)));
  }

  /** Whether a name exists, for types of which there are no records. */
  #existence(lower: WireName): Verdict {
    if (this.#isOwnServer(lower) || this.#isVersion(lower)) return nothing;
    return this.#find(lower).kind === 'unknown' ? unknown : nothing;
  }

  #isVersion(lower: WireName): boolean {
    return lower === this.#below(['dns-version'], this.domain);
  }

  #isOwnServer(lower: WireName): boolean {
    return lower === this.#below(['ns', 'dns'], this.domain);
  }

  #text(name: WireName, lower: WireName): Verdict {
    if (!this.#isVersion(lower)) return this.#existence(lower);
    return some([{name, type: type.TXT, class: internet, ttl: schemaTtl, data: textData(schemaVersion)}]);
  }

  /** The addresses of a name, and of the names to which it leads. */
  #addresses(question: WireName, wanted: number): Verdict {
    const chain: ResourceRecord[] = [];
    for (let name = question; ;) {
      const lower = lowerCase(name);
      if (this.#isOwnServer(lower)) return this.#ownAddresses(name, wanted);
      if (this.#isVersion(lower)) return nothing;
      const found = this.#find(lower);
      if (found.kind === 'unknown') return chain.length > 0 ? nothing : unknown;
      if (found.kind === 'addresses') {
        const records = this.#addressRecords(name, wanted, found.addresses);
        return records.length > 0 ? some([...chain, ...records]) : nothing;
      }
      const [alias] = this.#alias(name, found.target);
      // Names that lead to each other lead nowhere.
      if (!alias || lowerCase(alias.data) === lower || chain.length >= longestChain || chain.some(({data}) => data === alias.data))
        return nothing;
      chain.push(alias);
      if (!isWithin(lowerCase(alias.data), this.domain)) return {kind: 'alias', answers: chain, target: alias.data};
      name = alias.data;
    }
  }

  #ownAddresses(name: WireName, wanted: number): Verdict {
    const own = this.#servers(this.domain).filter(record => record.type === wanted);
    return some(own.map(({data}) => this.#record(name, wanted, data)));
  }

  #addressRecords(name: WireName, wanted: number, addresses: readonly FoundAddress[]): ResourceRecord[] {
    const records: ResourceRecord[] = [];
    const seen = new Set<string>();
    for (const {ip} of addresses) {
      if (seen.has(ip)) continue;
      seen.add(ip);
      const address = addressData(ip);
      if (address?.type === wanted) records.push(this.#record(name, wanted, address.data));
    }
    return records;
  }

  #services(name: WireName, lower: WireName): Verdict {
    const found = this.#find(lower);
    if (found.kind === 'unknown') return this.#existence(lower);
    if (found.kind === 'alias') return nothing; // The ports of another name are not known.
    const request = readNameRequest(labelsOf(lower).slice(0, -this.#depth));
    if (request.kind !== 'service') return nothing;
    const service = this.#below([request.name, request.namespace, 'svc'], this.#zoneIn(name));
    return this.#serviceRecords(name, service, found.addresses);
  }

  #serviceRecords(name: WireName, service: WireName, addresses: readonly FoundAddress[]): Verdict {
    // All have the same chance; the sum of the weights is a hundred.
    const weight = Math.max(1, Math.floor(100 / addresses.length));
    const answers = new Map<string, ResourceRecord>();
    const additional = new Map<string, ResourceRecord>();
    for (const {ip, port, endpoint} of addresses) {
      const address = addressData(ip);
      if (port === undefined || !address) continue;
      const target = endpoint === undefined ? service : this.#below([endpoint], service);
      const data = serviceData(weight, port, target);
      answers.set(data, this.#record(name, type.SRV, data));
      additional.set(`${ip} ${target}`, this.#record(target, address.type, address.data));
    }
    return some([...answers.values()], [...additional.values()]);
  }

  #nameservers(name: WireName): Verdict {
    const zone = this.#zoneIn(name);
    const addresses = this.#servers(zone);
    const servers = new Set(addresses.map(record => record.name));
    return some(
      [...servers].map(server => this.#record(name, type.NS, server)),
      addresses,
    );
  }

  /** The addresses of the server, by the names of the services that it is an endpoint of, or else by one of its own. */
  #servers(zone: WireName): ResourceRecord[] {
    const addresses = this.#parts.nameservers();
    const places = addresses.flatMap(address => this.#servicesAt(address)).flatMap(service => this.#places(service, zone));
    const own = {name: this.#below(['ns', 'dns'], zone)};
    const all = places.length > 0 ? places : addresses.map(ip => ({...own, ip}));
    const unique = new Map(all.map(place => [`${place.ip} ${place.name}`, place]));
    return [...unique.values()].flatMap(({name, ip}) => {
      const address = addressData(ip);
      return address ? [this.#record(name, address.type, address.data)] : [];
    });
  }

  /** The services that lead to an address. */
  #servicesAt(text: string): Frozen<Service>[] {
    const {cluster} = this.#parts;
    const address = parseIp(text);
    if (!address) return [];
    const ip = formatIp(address);
    const own = cluster.serviceOfClusterIp(ip);
    if (own) return [own];
    return cluster.endpointsAt(ip).flatMap(({namespace, service}) => cluster.service(namespace, service) ?? []);
  }

  #places(service: Frozen<Service>, zone: WireName): {readonly name: WireName; readonly ip: string}[] {
    const {namespace = '', name = ''} = service.metadata ?? {};
    const full = this.#below([name, namespace, 'svc'], zone);
    if (!isHeadless(service)) return clusterIpsOf(service).map(ip => ({name: full, ip}));
    return this.#parts.cluster.endpoints(namespace, name).map(({id, ip}) => ({name: this.#below([id], full), ip}));
  }

  #alias(name: WireName, target: string): ResourceRecord[] {
    const data = parseName(target);
    return data === undefined ? [] : [this.#record(name, type.CNAME, data)];
  }

  #record(name: WireName, recordType: number, data: string): ResourceRecord {
    return {name, type: recordType, class: internet, ttl: this.#parts.ttl, data};
  }

  #below(labels: readonly string[], zone: WireName): WireName {
    return nameOfLabels(labels).slice(0, -1) + zone;
  }

  #zoneIn(name: WireName): WireName {
    return name.slice(-this.domain.length);
  }
}
