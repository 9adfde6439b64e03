// In the window that logged in: say what came back, and go.
const channel = new BroadcastChannel("mnemosyne-log-in");
channel.postMessage(Object.fromEntries(new URLSearchParams(location.search)));
channel.close();
window.close();
