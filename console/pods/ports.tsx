import type {AnyObject} from '#page/api/objects.js';
import {Notice, say} from '#page/ui/parts.js';
import {containersOf} from './containers.js';

/** How to reach the ports of a pod from this machine. */
export function Ports({pod}: {readonly pod: AnyObject}) {
  const {namespace = '', name} = pod.metadata;
  const ports = containersOf(pod).flatMap(container => container.ports.map(port => ({...port, container: container.name})));
  const commandOf = (port: number) => `kubectl port-forward -n ${namespace} pod/${name} ${port}:${port}`;
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(
      () => say('The command is in the clipboard.'),
      () => say('The browser does not give access to the clipboard.', 'bad'),
    );
  if (ports.length === 0) return <Notice>The containers of this pod name no ports.</Notice>;
  return (
    <div class="scrolling">
      <table>
        <thead>
          <tr>
            <th>Container</th>
            <th>Port</th>
            <th>Protocol</th>
            <th>From this machine</th>
          </tr>
        </thead>
        <tbody>
          {ports.map(port => (
            <tr key={`${port.container}${port.containerPort}${port.protocol}`}>
              <td>{port.container}</td>
              <td>
                {port.containerPort} {port.name ? <small>{port.name}</small> : null}
              </td>
              <td>{port.protocol ?? 'TCP'}</td>
              <td>
                <code>{commandOf(port.containerPort)}</code>{' '}
                <button type="button" onClick={() => copy(commandOf(port.containerPort))}>
                  Copy
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
