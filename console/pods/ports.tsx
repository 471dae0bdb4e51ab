import {useEffect, useState} from 'preact/hooks';
import {messageOf} from '#src/base/message.js';
import {call} from '#page/api/call.js';
import type {AnyObject} from '#page/api/objects.js';
import {Notice} from '#page/ui/parts.js';
import {containersOf} from './containers.js';

interface Forward {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  readonly local: number;
}

const path = '/console/v1/forwards';

/** By another name than the page's own, so that the pod is not sent the cookie of the page. */
const hrefOf = (local: number): string => `http://${location.hostname === 'localhost' ? '127.0.0.1' : 'localhost'}:${local}/`;

/** The ports of a pod, and ports of this machine that lead to them. */
export function Ports({pod}: {readonly pod: AnyObject}) {
  const {namespace = '', name} = pod.metadata;
  const [forwards, setForwards] = useState<readonly Forward[]>([]);
  const [other, setOther] = useState('');
  const [error, setError] = useState('');
  const read = async (): Promise<void> => setForwards((await call<{forwards: readonly Forward[]}>(path)).forwards);
  const act = (method: string, body: object): void => {
    setError('');
    call(path, {method, body: JSON.stringify(body)})
      .then(read)
      .catch((failure: unknown) => setError(messageOf(failure)));
  };
  useEffect(() => void read().catch((failure: unknown) => setError(messageOf(failure))), []);
  const own = forwards.filter(each => each.namespace === namespace && each.pod === name);
  const named = containersOf(pod).flatMap(container => container.ports.map(port => ({...port, container: container.name})));
  const unnamed = own
    .filter(({port}) => !named.some(each => each.containerPort === port))
    .map(({port}) => ({containerPort: port, container: '', name: '', protocol: 'TCP'}));
  return (
    <div class="ports">
      {error ? <Notice tone="bad">{error}</Notice> : null}
      <table>
        <thead>
          <tr>
            <th>Port</th>
            <th>Container</th>
            <th>Protocol</th>
            <th>On this machine</th>
          </tr>
        </thead>
        <tbody>
          {[...named, ...unnamed].map(({containerPort, container, name: portName, protocol = 'TCP'}) => {
            const forward = own.find(({port}) => port === containerPort);
            return (
              <tr key={`${container} ${containerPort} ${protocol}`}>
                <td>
                  {containerPort} {portName ? <small>{portName}</small> : null}
                </td>
                <td>{container}</td>
                <td>{protocol}</td>
                <td>
                  {forward ? (
                    <>
                      <a href={hrefOf(forward.local)} target="_blank" rel="noreferrer noopener">
                        {hrefOf(forward.local)}
                      </a>{' '}
                    </>
                  ) : null}
                  {protocol === 'TCP' ? (
                    // One button, so that the focus stays.
                    <button
                      type="button"
                      key="act"
                      onClick={() =>
                        forward ? act('DELETE', {local: forward.local}) : act('POST', {namespace, pod: name, port: containerPort})
                      }
                    >
                      {forward ? 'End' : 'Forward'}
                    </button>
                  ) : (
                    'only TCP can be forwarded'
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <form
        class="bar"
        onSubmit={event => {
          event.preventDefault();
          act('POST', {namespace, pod: name, port: Number(other)});
        }}
      >
        <input
          class="short"
          type="number"
          min="1"
          max="65535"
          aria-label="Another port"
          placeholder="Port"
          value={other}
          onInput={event => setOther(event.currentTarget.value)}
        />
        <button>Forward another port</button>
      </form>
    </div>
  );
}
