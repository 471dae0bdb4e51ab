// What a user may see of the recorder: records of the objects that the user may list.

import type {Authorizer} from '#src/api/authorization.js';
import type {UserInfo} from '#src/api/user.js';
import type {RecordedObject} from '#src/observe/flight-recorder.js';
import type {FlightRecord, ReconcileRecord} from './records.js';

/** The most questions to the authorizer in one request. What is not decided then is not shown. */
const maxQuestions = 500;

/** Everything, for reconciles that concern no object. */
const everything: RecordedObject = {group: '*', resource: '*'};

/** Decides for one request what its user may see. Each answer of the authorizer is asked for once. */
export class Visible {
  readonly #authorizer: Authorizer;
  readonly #user: UserInfo;
  readonly #path: string;
  readonly #answers = new Map<string, boolean>();

  constructor(authorizer: Authorizer, user: UserInfo, path: string) {
    this.#authorizer = authorizer;
    this.#user = user;
    this.#path = path;
  }

  /** Returns a record as far as the user may see it; undefined for one that concerns what the user may not list. */
  async shown(record: FlightRecord): Promise<FlightRecord | undefined> {
    if (!(await this.mayList(record.object ?? everything))) return undefined;
    return record.kind === 'reconcile' ? this.#withVisible(record) : record;
  }

  /** Whether the user may list objects of the resource, in all namespaces or in that of the object. */
  async mayList({group, resource, namespace = ''}: RecordedObject): Promise<boolean> {
    return (await this.#answer(group, resource, '')) || (namespace !== '' && (await this.#answer(group, resource, namespace)));
  }

  async #answer(group: string, resource: string, namespace: string): Promise<boolean> {
    const id = `${group}/${resource}/${namespace}`;
    const known = this.#answers.get(id);
    if (known !== undefined) return known;
    if (this.#answers.size >= maxQuestions) return false;
    const {decision} = await this.#authorizer.authorize({
      user: this.#user,
      verb: 'list',
      resource: {group, version: '*', resource, subresource: '', namespace, name: ''},
      path: this.#path,
    });
    this.#answers.set(id, decision === 'allow');
    return decision === 'allow';
  }

  /** A reconcile may have other objects as cause, and may write others, than those its user may see. */
  async #withVisible(record: ReconcileRecord): Promise<ReconcileRecord> {
    const only = async <T>(all: readonly T[], objectOf: (each: T) => RecordedObject | undefined): Promise<T[]> => {
      const visible: T[] = [];
      for (const each of all) {
        const object = objectOf(each);
        if (!object || (await this.mayList(object))) visible.push(each);
      }
      return visible;
    };
    const causes = await only(record.causes, cause => ('object' in cause ? cause.object : undefined));
    const missed = await only(record.missed, each => each);
    const writes = await only(record.writes, ({object}) => object);
    const omitted = {
      causesOmitted: (record.causesOmitted ?? 0) + record.causes.length - causes.length,
      writesOmitted: (record.writesOmitted ?? 0) + record.writes.length - writes.length,
    };
    return {...record, causes, missed, writes, ...Object.fromEntries(Object.entries(omitted).filter(([, more]) => more > 0))};
  }
}
