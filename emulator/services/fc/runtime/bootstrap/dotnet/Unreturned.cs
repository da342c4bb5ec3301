using System;
using System.Reflection;
using System.Threading;

namespace Localyun
{
    /// <summary>
    /// Waits for a method that is <c>async void</c>, and takes the exception that it ends with.
    /// Such methods tell the context they are called in when they begin and end, and post their exception to it.
    /// </summary>
    public sealed class Unreturned : SynchronizationContext
    {
        private readonly CountdownEvent _open = new CountdownEvent(1);
        private Exception _thrown;

        /// <summary>Make the call and return when all that it began has ended.</summary>
        public static object Run(Func<object> call)
        {
            Unreturned context = new Unreturned();
            SetSynchronizationContext(context);
            try
            {
                call();
            }
            finally
            {
                SetSynchronizationContext(null);
            }
            context._open.Signal();
            context._open.Wait();
            if (context._thrown != null)
            {
                throw new TargetInvocationException(context._thrown);
            }
            return null;
        }

        public override void OperationStarted()
        {
            _open.AddCount();
        }

        public override void OperationCompleted()
        {
            _open.Signal();
        }

        public override void Post(SendOrPostCallback call, object state)
        {
            _open.AddCount();
            ThreadPool.QueueUserWorkItem(unused =>
            {
                SetSynchronizationContext(this);
                try
                {
                    call(state);
                }
                catch (Exception thrown)
                {
                    _thrown = thrown;
                }
                finally
                {
                    SetSynchronizationContext(null);
                    _open.Signal();
                }
            });
        }
    }
}
