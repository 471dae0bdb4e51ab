// The pages `/statusz` and `/flagz` of a component, as plain text and as versioned objects. They show values that the
// component passes, and change nothing.

import type {ApiResponse} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import {notAcceptable, type Status} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {VersionInfo} from '#src/api/version.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {parseClauses, type Clause} from '#src/serving/accept.js';
import {type AdministrativeRoute, type AdministrativeRequest, text} from './route.js';

/** The data of a component's `/statusz`. */
export interface StatuszSource {
  /** The component's name. */
  readonly component: string;
  readonly version: VersionInfo;
  /** The start time, in ms since the epoch. */
  readonly startedAt: number;
  /** The other paths that are served. */
  paths(): readonly string[];
}

/** The data of a component's `/flagz`. */
export interface FlagzSource {
  readonly component: string;
  /** The effective values by flag. */
  flags(): Readonly<Record<string, string>>;
}

export interface ZPagePorts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
}

/** `/statusz` (KEP-4827): uptime, version, and paths for debugging. */
export const statuszRoute = (source: StatuszSource, ports: ZPagePorts): AdministrativeRoute =>
  zPage(ports, {
    kind: 'Statusz',
    object() {
      const {component: name, version, startedAt} = source;
      return {
        metadata: {name},
        startTime: wireTime(startedAt),
        uptimeSeconds: uptimeOf(source, ports.clock),
        goVersion: version.goVersion,
        binaryVersion: binaryVersion(version),
        emulationVersion: emulationVersion(version),
        paths: foldersOf(source.paths()),
      };
    },
    text(separator) {
      const {version, startedAt} = source;
      const paths = foldersOf(source.paths()).join(' ');
      const lines = [
        ['Started', unixDate(startedAt)],
        ['Up', uptimeText(uptimeOf(source, ports.clock))],
        ['Go version', version.goVersion],
        ['Binary version', binaryVersion(version)],
        ['Emulation version', emulationVersion(version)],
      ];
      const shown = lines.map(([name, value]) => `${name}${separator} ${value}\n`).join('');
      return `${header(source.component, 'statusz')}\n${shown}${paths ? `Paths${separator} ${paths}` : ''}\n`;
    },
  });

/** `/flagz` (KEP-4828): the effective flags of a component. */
export const flagzRoute = (source: FlagzSource, ports: ZPagePorts): AdministrativeRoute =>
  zPage(ports, {
    kind: 'Flagz',
    object: () => ({metadata: {name: source.component}, flags: source.flags()}),
    text(separator) {
      const flags = Object.entries(source.flags()).sort(([one], [other]) => (one < other ? -1 : 1));
      return `${header(source.component, 'flagz')}${flags.map(([flag, value]) => `${flag}${separator}${value}\n`).join('')}`;
    },
  });

/** The text is for people: as upstream, the separator varies, so that no program parses it. */
const separators = [':', ': ', '=', ' '];

const header = (component: string, page: string): string =>
  `\n${component} ${page}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;

interface ZPage {
  readonly kind: 'Statusz' | 'Flagz';
  object(): object;
  text(separator: string): string;
}

const zPage = ({naming, random}: ZPagePorts, page: ZPage): AdministrativeRoute => ({
  path: `/${page.kind.toLowerCase()}`,
  answer(request) {
    const accept = headerOf(request, 'accept');
    const format = accept.trim() === '' ? 'text' : formatOf(accept, page.kind, naming);
    if (format === 'text') return text(page.text(separators[Math.floor(random.float() * separators.length)]!));
    if (format === undefined) return failure(notAcceptable(offered(naming)).status);
    if (format !== 'application/json')
      return failure({...noStatus, message: `content negotiation failed: unsupported media type '${format}'`});
    const apiVersion = `${naming.group('config')}/${version}`;
    const body = JSON.stringify({kind: page.kind, apiVersion, ...page.object()}, undefined, isPretty(request) ? 2 : undefined);
    return text(`${body}\n`, 200, `application/json;g=${naming.group('config')};v=${version};as=${page.kind}`);
  },
});

const version = 'v1alpha1';
const textType = 'text/plain';
const structured = (naming: Naming): readonly string[] => ['application/json', 'application/yaml', naming.protobufMediaType];
const offered = (naming: Naming): string[] => [...structured(naming), textType];

/** The media type of the first supported clause; `text` for plain text. */
const formatOf = (accept: string, kind: ZPage['kind'], naming: Naming): string | undefined => {
  for (const clause of parseClauses(accept)) {
    const {params} = clause;
    if (params.get('stream') || params.get('sv')) continue;
    const isPlain = !['as', 'g', 'v'].some(name => params.has(name));
    if (isPlain && matches(clause, textType)) return 'text';
    const isObject = params.get('as') === kind && params.get('g') === naming.group('config') && params.get('v') === version;
    const type = isObject ? structured(naming).find(each => matches(clause, each)) : undefined;
    if (type) return type;
  }
  return undefined;
};

const matches = ({type}: Clause, offer: string): boolean => type === offer || type === '*/*' || type === `${offer.split('/')[0]}/*`;

const noStatus: Status = {kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: '', code: 500};

const failure = (status: Status): ApiResponse => text(JSON.stringify(status, undefined, 2), status.code ?? 500, 'application/json');

const headerOf = ({request}: AdministrativeRequest, name: string): string => {
  const value = request.headers[name];
  return value === undefined ? '' : typeof value === 'string' ? value : value.join(', ');
};

const isPretty = (request: AdministrativeRequest): boolean => {
  const pretty = request.query.get('pretty');
  return pretty ? /^(1|t|true)$/i.test(pretty) : /^(curl|Wget|Mozilla\/5\.0)/.test(headerOf(request, 'user-agent'));
};

const uptimeOf = ({startedAt}: StatuszSource, clock: Clock): number => Math.max(0, Math.floor((clock.now() - startedAt) / 1000));

const twoDigits = (number: number): string => String(number).padStart(2, '0');

const uptimeText = (seconds: number): string =>
  `${Math.floor(seconds / 3600)} hr ${twoDigits(Math.floor(seconds / 60) % 60)} min ${twoDigits(seconds % 60)} sec`;

/** `Fri Nov  7 09:05:00 UTC 2025`. */
const unixDate = (ms: number): string => {
  const [day, date, month, year, time] = new Date(ms).toUTCString().replace(',', '').split(' ') as [string, string, string, string, string];
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} UTC ${year}`;
};

const binaryVersion = ({gitVersion}: VersionInfo): string => gitVersion.replace(/^v/, '');

const emulationVersion = ({emulationMajor, emulationMinor}: VersionInfo): string => `${emulationMajor}.${emulationMinor}`;

const omittedPaths = new Set(['/apis', '/api', '/openid', '/openapi', '/.well-known']);

/** The first segments of paths that are useful for debugging. */
const foldersOf = (paths: readonly string[]): string[] => {
  const folders = paths.map(path => `/${path.split('/')[1] ?? ''}`);
  return [...new Set(folders)].filter(folder => folder !== '/' && !omittedPaths.has(folder)).sort();
};
