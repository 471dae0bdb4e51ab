// What a certificate signing request asks for, why it waits, and the verdict.

import {useMemo, useState} from 'preact/hooks';
import {shortDuration, useNow} from '#page/base/format.js';
import {clusterNow} from '#page/base/now.js';
import {visible} from '#page/base/visible.js';
import {messageOf} from '#src/base/message.js';
import {call} from '#page/api/call.js';
import {objectPath, type Resource} from '#page/api/kinds.js';
import type {AnyObject, Condition} from '#page/api/objects.js';
import {Notice, say, Status} from '#page/ui/parts.js';
import {readRequest} from './pkcs10.js';

const list = (value: unknown): readonly string[] => (Array.isArray(value) ? (value as string[]) : []);

const conditionsOf = ({status}: AnyObject): readonly Condition[] => status?.conditions ?? [];

/** Signers that the controllers of a cluster sign for themselves, once a request is approved. */
const ownSigner = /^(?:kubernetes|plat)\.io\//;

/** Returns in a sentence what a request waits for. */
const reasonOf = (object: AnyObject): {readonly word: string; readonly text: string} => {
  const conditions = conditionsOf(object);
  const signer = String(object.spec?.['signerName'] ?? '');
  const denied = conditions.find(({type}) => type === 'Denied');
  if (denied) return {word: 'Denied', text: denied.message || denied.reason || 'Somebody has denied it. That is final.'};
  const failed = conditions.find(({type}) => type === 'Failed');
  if (failed) return {word: 'Failed', text: failed.message || failed.reason || 'The signer could not sign it.'};
  if (object.status?.['certificate']) return {word: 'Issued', text: 'The certificate is in status.certificate.'};
  const approved = conditions.find(({type}) => type === 'Approved');
  if (!approved) return {word: 'Pending', text: 'It waits for somebody with the right to approve requests for this signer.'};
  return {
    word: 'Approved, not issued',
    text: ownSigner.test(signer)
      ? `It waits for the controller that signs for ${signer}.`
      : `It waits for the program that signs for ${signer}: no controller of the cluster does.`,
  };
};

export function Request({object, resource}: {readonly object: AnyObject; readonly resource: Resource}) {
  const now = useNow(5000);
  const [reason, setReason] = useState('');
  const [error, setError] = useState('');
  const spec = object.spec ?? {};
  const request = useMemo(() => {
    try {
      return readRequest(String(spec['request'] ?? ''));
    } catch {
      return undefined;
    }
  }, [spec['request']]);
  const {word, text} = reasonOf(object);
  const decide = async (type: 'Approved' | 'Denied'): Promise<void> => {
    setError('');
    const condition = {
      type,
      status: 'True',
      reason: 'DecidedInConsole',
      message: reason || `${type} in plat console`,
      lastUpdateTime: new Date(clusterNow()).toISOString().replace(/\.\d+/, ''),
    };
    const body = JSON.stringify({...object, status: {...object.status, conditions: [...conditionsOf(object), condition]}});
    try {
      await call(objectPath(resource, '', object.metadata.name, 'approval'), {method: 'PUT', body});
      say(`${object.metadata.name} is ${type.toLowerCase()}.`);
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  const seconds = Number(spec['expirationSeconds'] ?? 0);
  const rows: readonly (readonly [string, string])[] = [
    ['Signer', String(spec['signerName'] ?? '')],
    ['Asked for by', String(spec['username'] ?? '')],
    ['Groups', list(spec['groups']).join(', ')],
    ['Subject', request ? request.subject.join(', ') : 'The request cannot be read.'],
    ['Names', request?.names.join(', ') ?? ''],
    ['Key', request?.key ?? ''],
    ['Usages', list(spec['usages']).join(', ')],
    ['Valid for', seconds ? shortDuration(seconds * 1000) : 'the default of the signer'],
    ['Since', object.metadata.creationTimestamp ? shortDuration(now - Date.parse(object.metadata.creationTimestamp)) : ''],
  ];
  return (
    <div class="request">
      <p class="verdict">
        <Status of={word} tone={word === 'Issued' ? 'good' : word === 'Denied' || word === 'Failed' ? 'bad' : 'waiting'} /> {visible(text)}
      </p>
      <dl>
        {rows
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{visible(value)}</dd>
            </div>
          ))}
      </dl>
      {error ? <Notice tone="bad">{error}</Notice> : null}
      {word === 'Pending' ? (
        <div class="bar">
          <input
            class="grow"
            aria-label="Message"
            placeholder="Why (optional)"
            value={reason}
            onInput={event => setReason(event.currentTarget.value)}
          />
          <button type="button" class="primary" onClick={() => void decide('Approved')}>
            Approve
          </button>
          <button type="button" class="danger" onClick={() => void decide('Denied')}>
            Deny
          </button>
        </div>
      ) : null}
    </div>
  );
}
